"""Tables of an MQTT broker's messages, on a real mosquitto."""
