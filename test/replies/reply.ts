/** One recorded reply, blanked of what differs between two runs of the same version. */
export interface Reply {
  /** Method and address. */
  readonly key: string;
  readonly status: number;
  /** The content type. */
  readonly type: string;
  /** SHA-256 of the body. */
  readonly digest: string;
  /** Length of the body, in characters. */
  readonly bytes: number;
  /** How the body begins. */
  readonly body: string;
}
