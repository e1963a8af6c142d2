"""The objects of shared storage: immutable, created by put-if-absent, the truth of a database with `--state`.

In: a URI (`file:///shared/db`, `s3://bucket/db`, `gs://…`, `az://…`). Out: an `ObjectStore`, whose put, get, list and
delete are all that the journal, its deltas and its snapshots need. Called by `storage.journal` and `meta.shared_state`.

    object_store        the interface, and its errors
    directory_objects   file://, synced: what a put has answered survives a loss of power
    cloud_objects       s3://, gs:// and az://, with obstore
    uri                 which of them a URI means
    state_format        format.json: whose objects they are, and in which formats
"""
