export type Json = unknown;

export type JsonObject = Readonly<Record<string, Json>>;
