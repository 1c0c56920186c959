/** Where a list begins and how long it is. `cursor` of a reply continues after it. */
export interface Page {
  readonly search?: string;
  readonly offset?: number;
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

/** What a page of a list says of the next one. */
export interface Paged {
  readonly has_more: boolean;
  /** Absent on the last page. */
  readonly cursor?: string;
}
