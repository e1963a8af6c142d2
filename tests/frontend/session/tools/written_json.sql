CREATE TABLE w (id int PRIMARY KEY, j json, b jsonb, js json[])
INSERT INTO w VALUES (1, '{"b":1,  "a":2,"b":3}', '{"b":1,  "a":2,"b":3}', '{"[1 ,2]",null}')
INSERT INTO w VALUES (2, ' [1.50,  1e2, "\u0041", null] ', '[1.50, 1e2]', NULL), (3, NULL, NULL, NULL), (4, '"\u0000"', NULL, NULL)
=SELECT id, j::text, b::text, js::text FROM w
=SELECT length(j::text), length(j::varchar(5)) FROM w WHERE id < 4
=SELECT id, j::jsonb::text FROM w WHERE id < 4
=SELECT j::jsonb FROM w WHERE id = 4
UPDATE w SET j = b WHERE id = 4
UPDATE w SET b = j WHERE id = 1
=SELECT id, j::text, b::text FROM w
=SELECT '{"b": 1,"a":2 }'::json::text, '{"b": 1,"a":2 }'::text::json::text, ('{"b":1}'::jsonb)::json::text
=SELECT json_build_object('b', 1, 'a', 'x', 'b', NULL)::text, json_build_object()::text, json_build_array(1, 'a', NULL, 1.50, true)::text
=SELECT json_build_object('j', j, 'b', b, 'n', id)::text FROM w ORDER BY id
=SELECT json_build_object('k' || id, id)::text, json_build_object(id, id)::text FROM w
=SELECT json_build_object(NULL::text, 1)
=SELECT json_build_object('a')
=SELECT row_to_json(w)::text FROM w ORDER BY id
=SELECT to_json(1.50)::text, to_json('a"b'::text)::text, to_json(ARRAY[1,NULL,3])::text, to_json(ARRAY[ARRAY[1],ARRAY[2]])::text
=SELECT to_json(1e20::float8)::text, to_json('NaN'::float8)::text, to_json(true)::text, to_json(NULL::int)::text
=SELECT to_json(timestamp '2024-02-03 04:05:06.5')::text, to_json(date '2024-02-03')::text, to_json(timestamptz '2024-02-03 04:05:06+00')::text
=SELECT array_to_json(ARRAY['a','b'])::text, array_to_json(ARRAY[ROW(1,'x'), ROW(2,'y')])::text
=SELECT row_to_json(ROW(1, ROW(2, 'x'), ARRAY[1,2]))::text
=SELECT json_agg(id ORDER BY id)::text, json_agg(j ORDER BY id)::text, json_agg(b ORDER BY id)::text FROM w
=SELECT json_agg(w ORDER BY id)::text FROM w WHERE id IN (1, 3)
=SELECT json_agg(x)::text FROM (SELECT id, NULL AS n FROM w WHERE id < 3 ORDER BY id) x
=SELECT json_agg(ARRAY[id, NULL] ORDER BY id)::text FROM w
=SELECT json_agg(id)::text FROM w WHERE id > 99
=SELECT json_object_agg(id, j ORDER BY id)::text, json_object_agg('k', id ORDER BY id)::text FROM w
=SELECT json_object_agg(NULLIF(id, 1), 1) FROM w
=SELECT json_agg(id) OVER (ORDER BY id)::text FROM w
=SELECT jsonb_agg(j ORDER BY id)::text, to_jsonb(j)::text, jsonb_build_object('j', j)::text FROM w WHERE id = 1 GROUP BY j::text, j::jsonb
=SELECT j ->> 'a', j ->> 'b', (j -> 'b')::text, j #>> '{a}' FROM w WHERE id = 1
=SELECT (j -> 0)::text, j ->> 2, json_array_length(j) FROM w WHERE id = 2
=SELECT json_typeof(j) FROM w
=SELECT (j::jsonb -> 'a')::text, (j::jsonb)::json::text FROM w WHERE id < 3
=SELECT key, value::text FROM json_each('{"x": 1, "y": 2}')
=SELECT json_object_keys('{"x": 1, "y": 2}')
=SELECT id, b::text, j FROM json_populate_record(NULL::w, '{"id": 7, "b": {"z":1, "a": 2}}')
=SELECT (n -> 'o')::text, n #> '{o,k}' IS NULL, (n #> '{o,l,1}')::text, n #>> '{o, l, 1}', (n -> 'o' -> 'l' -> -1)::text, n ->> 'o', n -> 'q', n ->> 'z', n -> 2 FROM (SELECT '{ "o" : { "l":[ 1 , {"x" :2} ],"l" : [3,  {"y": "\u00e9" } ] } , "z":null}'::json) AS s(n)
=SELECT '["a\u0041\n", "\ud83d\ude00", "\/"]'::json ->> 0, '["a\u0041\n", "\ud83d\ude00", "\/"]'::json ->> 1, '["\/"]'::json ->> 0
=SELECT '{"a\u0041": 1}'::json ->> 'aA', '5'::json -> 0 IS NULL, '[1]'::json -> 'a' IS NULL, '[1,2]'::json #>> '{-1}', '[1]'::json -> 5 IS NULL
=SELECT json_extract_path('{"a": {"z" :1}}', 'a')::text, json_extract_path_text(' {"a": {"z" :1}}', 'a', 'z'), json_typeof(' [ 1]'), json_array_length(' [1, [2,3] ,{}] ')
=SELECT key, value::text, pg_typeof(value)::text FROM json_each('{"x": 1,"y": [2,  3],"x": {"a" :null}}')
=SELECT * FROM json_each_text('{"x": 1,"y": [2,  3],"x": null}')
=SELECT value::text FROM json_array_elements('[1, {"a" :2}, [ ]]')
=SELECT * FROM json_array_elements_text('["x", null, {"a" :2}]')
=SELECT json_object_keys('{"x": 1, "x": 2}')
=SELECT w.id, e.value::text FROM w, json_each(w.j) e WHERE id = 1
SELECT json_array_length('{}'), 1
SELECT json_array_length('5')
SELECT json_array_elements('{}')
SELECT json_object_keys('[]')
SELECT * FROM json_each('[]')
SELECT * FROM json_each('5')
SELECT j = j FROM w
SELECT min(j) FROM w
SELECT row_number() OVER (PARTITION BY j) FROM w
SELECT row_number() OVER (ORDER BY j) FROM w
SELECT j <> '{}' FROM w
SELECT * FROM w WHERE j IN ('{}', '[]')
SELECT j < j FROM w
SELECT DISTINCT j FROM w
SELECT j FROM w GROUP BY j
SELECT j FROM w ORDER BY j
SELECT j FROM w UNION SELECT j FROM w
SELECT count(DISTINCT j) FROM w
=SELECT count(*) FROM (SELECT j FROM w UNION ALL SELECT j FROM w) x
SELECT j::int FROM w
SELECT j IS DISTINCT FROM j FROM w
=SELECT count(*) FROM w WHERE j IS NOT NULL
=SELECT CASE WHEN id = 1 THEN j END::text, coalesce(j, '[ ]')::text FROM w
DROP TABLE w
