import type { Channel } from './channels.ts';

/** An event of the streaming protocol, as its clients read it. */
export interface ProtocolFrame {
  readonly channel: Channel;
  /** What a node reports under. */
  readonly name?: string | undefined;
  readonly method: string;
  readonly id: string;
  /** In its thread. */
  readonly seq: number;
  /** The event as JSON on one line. */
  readonly json: string;
}

/** Events as server-sent ones. */
export const encodeProtocol = (frames: readonly ProtocolFrame[]): readonly Uint8Array[] =>
  frames.map(({ method, seq, json }) => Buffer.from(`event: ${method}\ndata: ${json}\nid: ${String(seq)}\n\n`));
