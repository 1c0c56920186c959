/** The authenticated caller: the owner of everything that the request creates, and the user context that nodes see. */
export interface Principal {
  readonly owner: string;
  readonly user?: Readonly<Record<string, unknown>>;
}
