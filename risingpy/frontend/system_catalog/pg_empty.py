"""Relations of objects that RisingPy does not have. Their columns exist, so that clients' queries give no rows."""

from __future__ import annotations

from risingpy.frontend.system_catalog.system_relation import SystemRelation, relation

_COLUMNS = {
    "pg_cast": "oid oid, castsource oid, casttarget oid, castfunc oid, castcontext char, castmethod char",
    "pg_conversion": "oid oid, conname name, connamespace oid, conowner oid, conforencoding int4, contoencoding int4,"
    "conproc regproc, condefault bool",
    "pg_event_trigger": "oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid, evtenabled char,"
    "evttags _text",
    "pg_inherits": "inhrelid oid, inhparent oid, inhseqno int4, inhdetachpending bool",
    "pg_init_privs": "objoid oid, classoid oid, objsubid int4, privtype char, initprivs _aclitem",
    "pg_aggregate": "aggfnoid regproc, aggkind char, aggnumdirectargs int2, aggtransfn regproc, aggfinalfn regproc,"
    "aggcombinefn regproc, aggserialfn regproc, aggdeserialfn regproc, aggmtransfn regproc, aggminvtransfn regproc,"
    "aggmfinalfn regproc, aggfinalextra bool, aggmfinalextra bool, aggfinalmodify char, aggmfinalmodify char,"
    "aggsortop oid, aggtranstype oid, aggtransspace int4, aggmtranstype oid, aggmtransspace int4,"
    "agginitval text, aggminitval text",
    "pg_largeobject": "loid oid, pageno int4, data text",
    "pg_shdepend": "dbid oid, classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, deptype char",
    "pg_shseclabel": "objoid oid, classoid oid, provider text, label text",
    "pg_largeobject_metadata": "oid oid, lomowner oid, lomacl _text",
    "pg_operator": "oid oid, oprname name, oprnamespace oid, oprowner oid, oprkind char, oprcanmerge bool,"
    "oprcanhash bool, oprleft oid, oprright oid, oprresult oid, oprcom oid, oprnegate oid, oprcode regproc,"
    "oprrest regproc, oprjoin regproc",
    "pg_partitioned_table": "partrelid oid, partstrat char, partnatts int2, partdefid oid, partattrs int2vector,"
    "partclass oidvector, partcollation oidvector, partexprs text",
    "pg_policy": "oid oid, polname name, polrelid oid, polcmd char, polpermissive bool, polroles _oid, polqual text,"
    "polwithcheck text",
    "pg_policies": "schemaname name, tablename name, policyname name, permissive text, roles _name, cmd text,"
    "qual text, with_check text",
    "pg_prepared_xacts": "transaction oid, gid text, prepared timestamptz, owner name, database name",
    "pg_publication": "oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool, pubupdate bool,"
    "pubdelete bool, pubtruncate bool, pubviaroot bool",
    "pg_publication_namespace": "oid oid, pnpubid oid, pnnspid oid",
    "pg_publication_rel": "oid oid, prpubid oid, prrelid oid, prqual text, prattrs _int2",
    "pg_publication_tables": "pubname name, schemaname name, tablename name, attnames _name, rowfilter text",
    "pg_seclabel": "objoid oid, classoid oid, objsubid int4, provider text, label text",
    "pg_seclabels": "objoid oid, classoid oid, objsubid int4, objtype text, objnamespace oid, objname text,"
    "provider text, label text",
    "pg_statistic_ext": "oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid, stxstattarget int4,"
    "stxkeys int2vector, stxkind _char, stxexprs text",
    "pg_subscription": "oid oid, subdbid oid, subskiplsn text, subname name, subowner oid, subenabled bool,"
    "subbinary bool, substream bool, subtwophasestate char, subdisableonerr bool, subconninfo text, subslotname name,"
    "subsynccommit text, subpublications _text",
    "pg_subscription_rel": "srsubid oid, srrelid oid, srsubstate char, srsublsn text",
    "pg_transform": "oid oid, trftype oid, trflang oid, trffromsql regproc, trftosql regproc",
    "pg_trigger": "oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid, tgtype int2, tgenabled char,"
    "tgisinternal bool, tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, tgdeferrable bool,"
    "tginitdeferred bool, tgnargs int2, tgattr int2vector, tgargs text, tgqual text, tgoldtable name, tgnewtable name",
    "pg_ts_config": "oid oid, cfgname name, cfgnamespace oid, cfgowner oid, cfgparser oid",
    "pg_ts_config_map": "mapcfg oid, maptokentype int4, mapseqno int4, mapdict oid",
    "pg_ts_dict": "oid oid, dictname name, dictnamespace oid, dictowner oid, dicttemplate oid, dictinitoption text",
    "pg_ts_parser": "oid oid, prsname name, prsnamespace oid, prsstart regproc, prstoken regproc, prsend regproc,"
    "prsheadline regproc, prslextype regproc",
    "pg_ts_template": "oid oid, tmplname name, tmplnamespace oid, tmplinit regproc, tmpllexize regproc",
    "pg_user_mappings": "umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions _text",
    "pg_user_mapping": "oid oid, umuser oid, umserver oid, umoptions _text",
}

EMPTY_RELATIONS: tuple[SystemRelation, ...] = tuple(
    relation("pg_catalog", name, columns) for name, columns in _COLUMNS.items()
)
