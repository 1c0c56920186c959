/** A part of a file: the positions of its first and of its last byte. */
interface Part {
  readonly start: number;
  readonly end: number;
}

/** A file as a reply, in whole or in part as the caller asks. */
export interface FileContent {
  readonly contentType: string;
  readonly filename: string;
  /** Whether a browser shows it rather than saves it. */
  readonly isInline: boolean;
  /** Whether pages of other origins may show it. */
  readonly isEmbeddable: boolean;
  /** In bytes. */
  readonly size: number;
  /** Distinguishes the content from any other, and is the same wherever the content is. */
  readonly tag: string;
  /** The bytes, from the first to the last position of the part. @throws NotFound, Unavailable */
  readonly open: (part: Part | undefined, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
}
