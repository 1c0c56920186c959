import { channelOf, numberWithin, type Part } from './parts.ts';
import type { Channel } from './channels.ts';
import { eventIdOf, threadSeq } from './event-id.ts';
import type { ProtocolFrame } from './protocol-frame.ts';

interface Numbered {
  readonly part: Part;
  /** Absent: the name of its channel. */
  readonly method?: string;
  readonly at: number;
  readonly node: string | undefined;
  /** JSON. */
  readonly data: string;
  /** Absent: its number. */
  readonly id: string | undefined;
}

/** Numbers what comes of the events of a run. */
export function createNumbering(ordinal: number) {
  let seq = 0;
  let ofParts = new Map<Part, number>();
  let ofChannels = new Map<Channel, number>();
  return {
    /** What follows comes of this event of the run. */
    enter: (next: number): void => {
      seq = next;
      ofParts = new Map();
      ofChannels = new Map();
    },
    frame: ({ part, method, at, node, data, id: own }: Numbered): ProtocolFrame => {
      const channel = channelOf(part);
      const inThread = threadSeq(ordinal, seq, numberWithin(part, countOf(ofParts, part)));
      const id = own ?? eventIdOf({ ordinal, seq, channel, index: countOf(ofChannels, channel) });
      const about = `"event_id":${JSON.stringify(id)},"seq":${String(inThread)},"method":"${method ?? channel}"`;
      const of = node === undefined ? '' : `,"node":${JSON.stringify(node)}`;
      const params = `{"namespace":[],"timestamp":${String(at)}${of},"data":${data}}`;
      return {
        channel,
        method: method ?? channel,
        id,
        seq: inThread,
        json: `{"type":"event",${about},"params":${params}}`,
      };
    },
  };
}

/** How many there were before this one. */
function countOf<T>(counts: Map<T, number>, what: T): number {
  const before = counts.get(what) ?? 0;
  counts.set(what, before + 1);
  return before;
}
