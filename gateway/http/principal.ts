/** Who calls: the owner of all that the request makes, and the user context that nodes see. */
export interface Principal {
  readonly owner: string;
  readonly user?: Readonly<Record<string, unknown>>;
}
