/** Of what one side of a stream sends: parts that come in one turn of the event loop travel in one message. */
interface Outbox<P> {
  readonly add: (part: P, bytes: number) => void;
  /** Bytes that have been added and not yet taken by the connection. */
  readonly waitingBytes: () => number;
}

/** A message is sent early when its parts have so many bytes. */
const maxMessageBytes = 256 * 1024;
/** What a part has beside its payload, at most as a rule: for the bound above it need not be exact. */
const partBytes = 256;

/** `write` sends a message and calls back once the connection has taken it, whether or not that went well. */
export function createOutbox<P>(write: (parts: readonly P[], onTaken: () => void) => void): Outbox<P> {
  let parts: P[] = [];
  let bytes = 0;
  let underWay = 0;
  let isPlanned = false;
  const send = (): void => {
    if (parts.length === 0) return;
    const [sent, size] = [parts, bytes];
    parts = [];
    bytes = 0;
    underWay += size;
    write(sent, () => (underWay -= size));
  };
  const turn = (): void => {
    isPlanned = false;
    send();
  };
  return {
    add: (part, size) => {
      parts.push(part);
      bytes += size + partBytes;
      if (bytes >= maxMessageBytes) send();
      else if (!isPlanned) {
        isPlanned = true;
        setImmediate(turn);
      }
    },
    waitingBytes: () => bytes + underWay,
  };
}
