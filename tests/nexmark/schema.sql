CREATE TABLE person (id BIGINT PRIMARY KEY, name VARCHAR, email VARCHAR, city VARCHAR, state VARCHAR, date_time TIMESTAMP);
CREATE TABLE auction (id BIGINT PRIMARY KEY, item VARCHAR, initial_bid BIGINT, reserve BIGINT, date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT);
CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, date_time TIMESTAMP, extra VARCHAR);
CREATE TABLE side_input (key BIGINT PRIMARY KEY, value VARCHAR);
