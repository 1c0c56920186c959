import { once } from 'node:events';
import { connect } from 'node:net';
import { stampEnd, stampStart } from './agents.ts';

/** Receives each time of emission that arrives, and when it arrived; both in milliseconds since 1970. */
type OnArrival = (emittedAt: number, arrivedAt: number) => void;

/** All readers read into the same memory: each is done with its bytes before the next one gets any. */
const buffer = Buffer.alloc(1 << 16);

/**
 * Opens a connection, sends the request for a stream and reads nothing of the reply but the times of emission, so that the
 * load's own time is small. Disposal closes it.
 */
export async function openReader(port: number, request: Buffer, onArrival: OnArrival): Promise<Disposable> {
  let rest = '';
  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer,
      callback: (length) => {
        rest = readStamps(rest + buffer.toString('latin1', 0, length), onArrival);
        return true;
      },
    },
  });
  await once(socket, 'connect');
  // A reader that loses its connection gets no more chunks, and the count of arrivals shows it.
  socket.on('error', () => undefined);
  socket.write(request);
  return { [Symbol.dispose]: () => socket.destroy() };
}

/** Reads every whole time in the text. @returns the end of the text that may hold the start of the next one. */
function readStamps(text: string, onArrival: OnArrival): string {
  const arrivedAt = performance.timeOrigin + performance.now();
  let from = 0;
  for (let at = text.indexOf(stampStart); at !== -1; at = text.indexOf(stampStart, from)) {
    const begin = at + stampStart.length;
    const end = text.indexOf(stampEnd, begin);
    if (end === -1) return text.slice(at);
    onArrival(Number(text.slice(begin, end)), arrivedAt);
    from = end;
  }
  return text.slice(Math.max(from, text.length - stampStart.length + 1));
}
