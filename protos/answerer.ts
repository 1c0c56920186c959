/** Who answered a question. */
export interface Answerer {
  /** The id of the principal. */
  readonly by: string;
  /** When, as ISO 8601 in UTC. */
  readonly at: string;
  /** The protocol of the client: `v1`, `langgraph`, `mcp` and so on. */
  readonly client: string;
  /** The id of the API key by which they came; absent where they came by none. */
  readonly key?: string;
}

/** Whose all API keys on record are: the operator of the service makes and revokes them. One that is not there was revoked. */
export const ownerOfKeys = 'api-keys';
