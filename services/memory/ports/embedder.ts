import type { Call } from '@agent-workflow/protos/call';

/** Which embedder made the vectors of a store. It is kept with the memories, so that they are never read with another. */
export interface EmbedderIdentity {
  readonly model: string;
  /** How many numbers a vector has. */
  readonly dimension: number;
}

/** Turns texts into vectors. The same text gives the same vector as long as `model` is the same. */
export interface Embedder extends EmbedderIdentity {
  /**
   * One vector a text, in order, each of `dimension` finite numbers, of any length.
   * @throws Unavailable when the model cannot be reached, Invalid when it gives no such vector for a text, Timeout and Cancelled when `call`
   * ends.
   */
  readonly embed: (texts: readonly string[], call: Call) => Promise<Float32Array[]>;
}
