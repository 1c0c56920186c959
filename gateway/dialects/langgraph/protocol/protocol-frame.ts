import type { Channel } from './channels.ts';
import { perEvent } from './parts.ts';

/** An event of the streaming protocol, as its clients read it. */
export interface ProtocolFrame {
  readonly channel: Channel;
  /** What a node reports under. */
  readonly name?: string | undefined;
  readonly method: string;
  readonly id: string;
  /** Its number in its thread. */
  readonly seq: number;
  /** The event as JSON on one line. */
  readonly json: string;
}

/** What a reader does not have who goes on within the frames of one event, before the number `skipped` of that. */
export const withoutFirst = (frames: readonly ProtocolFrame[], skipped: number): readonly ProtocolFrame[] =>
  skipped === 0 ? frames : frames.filter(({ seq }) => seq % perEvent >= skipped);

/** Events as server-sent ones. */
export const encodeProtocol = (frames: readonly ProtocolFrame[]): readonly Uint8Array[] =>
  frames.map(({ method, seq, json }) => Buffer.from(`event: ${method}\ndata: ${json}\nid: ${String(seq)}\n\n`));
