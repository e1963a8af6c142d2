-- q00
SELECT auction, bidder, price, date_time FROM bid;

-- q01
SELECT auction, bidder, 0.908 * price AS price, date_time FROM bid;

-- q02
SELECT auction, price FROM bid WHERE auction % 3 = 0;

-- q03
SELECT p.name, p.city, p.state, a.id
FROM auction a JOIN person p ON a.seller = p.id
WHERE a.category = 10 AND (p.state = 'or' OR p.state = 'id' OR p.state = 'ca');

-- q04
SELECT q.category, avg(q.final) AS avg
FROM (
  SELECT max(b.price) AS final, a.category
  FROM auction a, bid b
  WHERE a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY a.id, a.category
) q
GROUP BY q.category;

-- q05
SELECT bids.auction, bids.num, bids.window_start
FROM (
  SELECT auction, count(*) AS num, window_start
  FROM hop(bid, date_time, INTERVAL '2' SECOND, INTERVAL '10' SECOND)
  GROUP BY window_start, auction
) bids
JOIN (
  SELECT max(counts.num) AS most, counts.window_start
  FROM (
    SELECT count(*) AS num, window_start
    FROM hop(bid, date_time, INTERVAL '2' SECOND, INTERVAL '10' SECOND)
    GROUP BY auction, window_start
  ) counts
  GROUP BY counts.window_start
) top ON bids.window_start = top.window_start AND bids.num >= top.most;

-- q06
SELECT q.seller, avg(q.final) OVER (
    PARTITION BY q.seller ORDER BY q.date_time, q.id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW
  ) AS avg
FROM (
  SELECT a.id, a.seller, max(b.price) AS final, max(b.date_time) AS date_time
  FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY a.id, a.seller
) q;

-- q07
SELECT b.auction, b.price, b.bidder, b.date_time
FROM bid b
JOIN (
  SELECT max(price) AS most, window_end AS date_time
  FROM tumble(bid, date_time, INTERVAL '10' SECOND)
  GROUP BY window_end
) w ON b.price = w.most AND b.date_time BETWEEN w.date_time - INTERVAL '10' SECOND AND w.date_time;

-- q08
SELECT p.id, p.name, p.starttime
FROM (
  SELECT id, name, window_start AS starttime, window_end AS endtime
  FROM tumble(person, date_time, INTERVAL '10' SECOND)
  GROUP BY id, name, window_start, window_end
) p
JOIN (
  SELECT seller, window_start AS starttime, window_end AS endtime
  FROM tumble(auction, date_time, INTERVAL '10' SECOND)
  GROUP BY seller, window_start, window_end
) a ON p.id = a.seller AND p.starttime = a.starttime AND p.endtime = a.endtime;

-- q09
SELECT id, item, seller, category, auction, bidder, price, bid_at
FROM (
  SELECT a.*, b.auction, b.bidder, b.price, b.date_time AS bid_at,
    row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time, b.bidder) AS rank
  FROM auction a, bid b
  WHERE a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
) x
WHERE rank <= 1;

-- q10
SELECT auction, bidder, price, to_char(date_time, 'YYYY-MM-DD') AS date, to_char(date_time, 'HH24:MI') AS time FROM bid;

-- q11
SELECT bidder, session, count(*) AS bids, min(date_time) AS first, max(date_time) AS last
FROM (
  SELECT bidder, date_time, sum(starts) OVER (PARTITION BY bidder ORDER BY date_time) AS session
  FROM (
    SELECT bidder, date_time,
      CASE WHEN date_time - lag(date_time) OVER (PARTITION BY bidder ORDER BY date_time, auction, price) <= INTERVAL '10' SECOND
        THEN 0 ELSE 1 END AS starts
    FROM bid
  ) marked
) numbered
GROUP BY bidder, session;

-- q12
SELECT bidder, count(*) AS bids, window_start, window_end
FROM tumble(bid, date_time, INTERVAL '10' SECOND)
GROUP BY bidder, window_start, window_end;

-- q13
SELECT b.auction, b.bidder, b.price, b.date_time, s.value FROM bid b JOIN side_input s ON b.auction % 10 = s.key;

-- q14
SELECT auction, bidder, 0.908 * price AS price,
  CASE
    WHEN extract(hour FROM date_time) >= 8 AND extract(hour FROM date_time) <= 18 THEN 'dayTime'
    WHEN extract(hour FROM date_time) <= 6 OR extract(hour FROM date_time) >= 20 THEN 'nightTime'
    ELSE 'otherTime'
  END AS part,
  date_time, length(extra) - length(replace(extra, 'c', '')) AS c_counts
FROM bid
WHERE 0.908 * price > 100 AND 0.908 * price < 5000;

-- q15
SELECT to_char(date_time, 'YYYY-MM-DD') AS day, count(*) AS total,
  count(*) FILTER (WHERE price < 100) AS low,
  count(*) FILTER (WHERE price >= 100 AND price < 1000) AS middle,
  count(DISTINCT bidder) AS bidders,
  count(DISTINCT bidder) FILTER (WHERE price < 100) AS low_bidders,
  count(DISTINCT auction) AS auctions,
  count(DISTINCT auction) FILTER (WHERE price >= 1000) AS high_auctions
FROM bid
GROUP BY to_char(date_time, 'YYYY-MM-DD');

-- q16
SELECT channel, to_char(date_time, 'YYYY-MM-DD') AS day, max(to_char(date_time, 'HH24:MI')) AS minute, count(*) AS total,
  count(*) FILTER (WHERE price < 100) AS low, count(DISTINCT bidder) AS bidders,
  count(DISTINCT bidder) FILTER (WHERE price >= 100 AND price < 1000) AS middle_bidders,
  count(DISTINCT auction) FILTER (WHERE price >= 1000) AS high_auctions
FROM bid
GROUP BY channel, to_char(date_time, 'YYYY-MM-DD');

-- q17
SELECT auction, to_char(date_time, 'YYYY-MM-DD') AS day, count(*) AS total,
  count(*) FILTER (WHERE price < 100) AS low, min(price) AS least, max(price) AS most, avg(price) AS mean, sum(price) AS sum
FROM bid
GROUP BY auction, to_char(date_time, 'YYYY-MM-DD');

-- q18
SELECT auction, bidder, price, channel, date_time
FROM (
  SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC, price, channel) AS rank FROM bid
) x
WHERE rank <= 1;

-- q19
SELECT auction, bidder, price, date_time, rank
FROM (
  SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time, bidder) AS rank FROM bid
) x
WHERE rank <= 10;

-- q20
SELECT b.auction, b.bidder, b.price, b.channel, b.date_time, a.item, a.initial_bid, a.reserve, a.seller, a.category
FROM bid b JOIN auction a ON b.auction = a.id
WHERE a.category = 10;

-- q21
SELECT auction, bidder, price, channel,
  CASE
    WHEN lower(channel) = 'apple' THEN '0'
    WHEN lower(channel) = 'google' THEN '1'
    WHEN lower(channel) = 'facebook' THEN '2'
    WHEN lower(channel) = 'baidu' THEN '3'
    ELSE substring(url FROM 'channel_id=([^&]*)')
  END AS channel_id
FROM bid
WHERE substring(url FROM 'channel_id=([^&]*)') IS NOT NULL OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu');

-- q22
SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2,
  split_part(url, '/', 6) AS dir3
FROM bid;
