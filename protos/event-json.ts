/**
 * The JSON of an event in which one part stands at two places, written once. The thread's context is such a part of a run's last
 * event, as `data.state.context` and as `data.context`. The event says so in a member of its own, which is none of what a caller reads:
 *
 *     {"event":"on_chain_end","copy":{"from":52,"length":17,"to":70},"data":{"state":{"context":[…]},…
 *
 * A copy of the `length` bytes at `from` belongs at `to`, counted in bytes from behind the comma that ends `copy`; `to` is never inside
 * of the part. An event without `copy` is written as it stands.
 */

export interface TwiceWritten {
  readonly event: string;
  /** The text between the event's name and the part, behind a comma. */
  readonly before: string;
  /** What stands at two places, with the comma in front of it. */
  readonly part: string;
  /** What stands between the two. */
  readonly between: string;
  readonly after: string;
}

/**
 * Below this a part is written twice: so little costs nothing, and whoever knows nothing of `copy` can read it. An event of fewer
 * bytes stands as it is read.
 */
export const plainBytes = 64 * 1024;

/** The event as it crosses the wire and stands in the log. */
export function toEventJson({ event, before, part, between, after }: TwiceWritten): Buffer {
  const start = `{"event":"${event}",`;
  if (part.length < plainBytes) return Buffer.from(`${start}${before}${part}${between}${part}${after}`);
  const [first, twice, then] = [Buffer.from(before), Buffer.from(part), Buffer.from(between)];
  const [from, length] = [first.byteLength, twice.byteLength];
  const copy = `"copy":${JSON.stringify({ from, length, to: from + length + then.byteLength })},`;
  return Buffer.concat([Buffer.from(start + copy), first, twice, then, Buffer.from(after)]);
}

const copied = /^\{"event":"\w{1,32}",("copy":\{"from":(\d{1,9}),"length":(\d{1,9}),"to":(\d{1,9})\},)/;
const headBytes = 128;

/** The event's JSON as a caller reads it, in parts that follow each other. They are views: nothing is copied. */
export function partsOfEvent(json: Uint8Array): readonly Uint8Array[] {
  if (json.byteLength < plainBytes) return [json];
  const head = Buffer.from(json.buffer, json.byteOffset, headBytes).toString('latin1');
  const found = copied.exec(head);
  if (!found) return [json];
  const [whole, copy = ''] = found;
  const [from = 0, length = 0, to = 0] = found.slice(2).map(Number);
  const rest = json.subarray(whole.length);
  return [
    json.subarray(0, whole.length - copy.length),
    rest.subarray(0, to),
    rest.subarray(from, from + length),
    rest.subarray(to),
  ];
}
