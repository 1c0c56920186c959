/** The file whose bytes are meant. Both texts may hold any characters. */
export interface FileKey {
  readonly owner: string;
  readonly fileId: string;
}

/** What was written. */
export interface WrittenFile {
  /** In bytes. */
  readonly size: number;
  /** Of the bytes, as hexadecimal digits. */
  readonly sha256: string;
}

/** A part of a file: the positions of its first and of its last byte. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Where the bytes of files are. Their records are in the threads service. */
export interface FileBytes extends AsyncDisposable {
  /** The memory that one call of `write` takes at most, in bytes. */
  readonly bufferBytes: number;
  /**
   * Stores the bytes as they come, at the pace of the store. They are durable and readable when this resolves, and not before: of a
   * write that failed, or whose process died, nothing can be read. A file is written once.
   * @throws what `bytes` throws, the signal's reason, or Unavailable when the store cannot be reached or is full. What was stored so far is removed.
   */
  readonly write: (key: FileKey, bytes: AsyncIterable<Uint8Array>, signal: AbortSignal) => Promise<WrittenFile>;
  /**
   * The bytes of a file, or those that it has in a part; `undefined` when there is no file. They are read at the pace of the reader, who
   * may leave at any time.
   * @throws Unavailable, also later while they are read.
   */
  readonly read: (
    key: FileKey,
    options: { readonly range?: ByteRange | undefined; readonly signal: AbortSignal },
  ) => Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Whether the store can be used now; it reads and writes nothing. @throws Unavailable; the signal's reason. */
  readonly check: (signal: AbortSignal) => Promise<void>;
  /** Removes the bytes, and what a write that did not end left behind. Without any it does nothing. @throws Unavailable */
  readonly remove: (key: FileKey, signal: AbortSignal) => Promise<void>;
}
