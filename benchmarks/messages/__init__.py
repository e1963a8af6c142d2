"""Messages of Kafka, counted by a view: as JSON, and as Avro on the way there and back."""
