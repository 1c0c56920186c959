/** What a thread can read while the main one stands still: memory that both share. */
export interface Board {
  readonly memory: SharedArrayBuffer;
  /** Notes that the event loop has turned. `isDebugged`: a debugger may hold it, which is nobody's fault. */
  readonly turn: (isDebugged: boolean) => void;
  /** Takes a line for a run; `undefined` when all are taken, and the run goes on without. */
  readonly take: (runId: string) => BoardLine | undefined;
}

export interface BoardLine {
  /** The nodes of the step that begins. */
  readonly write: (nodes: readonly string[]) => void;
  readonly free: () => void;
}

/** A run as the board has it. */
export interface BoardEntry {
  readonly runId: string;
  /** The nodes of its step, as one text; empty before the first. */
  readonly nodes: string;
}

/** The other side of a {@link Board}. */
export interface BoardReader {
  readonly turns: () => number;
  readonly isDebugged: () => boolean;
  readonly entries: () => BoardEntry[];
}

const turnsAt = 0;
const debuggedAt = 1;
const headBytes = 8;
const idBytes = 64;
const lineBytes = 256;

/** Makes a board with a line for each of so many runs at once. */
export function createBoard(lines: number): Board {
  const memory = new SharedArrayBuffer(headBytes + lines * lineBytes);
  const head = new Int32Array(memory, 0, headBytes / 4);
  const bytes = Buffer.from(memory);
  const free = Array.from({ length: lines }, (_, index) => headBytes + index * lineBytes).reverse();
  const put = (text: string, at: number, room: number): void => {
    const end = at + bytes.write(text, at, room - 1, 'utf8');
    bytes[end] = 0;
  };
  return {
    memory,
    turn: (isDebugged) => {
      Atomics.add(head, turnsAt, 1);
      Atomics.store(head, debuggedAt, isDebugged ? 1 : 0);
    },
    take: (runId) => {
      const at = free.pop();
      if (at === undefined) return undefined;
      put('', at + idBytes, lineBytes - idBytes);
      put(runId, at, idBytes);
      return {
        write: (nodes) => put(nodes.join(', '), at + idBytes, lineBytes - idBytes),
        free: () => {
          put('', at, idBytes);
          free.push(at);
        },
      };
    },
  };
}

export function readBoard(memory: SharedArrayBuffer): BoardReader {
  const head = new Int32Array(memory, 0, headBytes / 4);
  const bytes = Buffer.from(memory);
  const textAt = (at: number): string => bytes.toString('utf8', at, bytes.indexOf(0, at));
  return {
    turns: () => Atomics.load(head, turnsAt),
    isDebugged: () => Atomics.load(head, debuggedAt) === 1,
    entries: () => {
      const entries: BoardEntry[] = [];
      for (let at = headBytes; at < bytes.length; at += lineBytes)
        if (bytes[at] !== 0) entries.push({ runId: textAt(at), nodes: textAt(at + idBytes) });
      return entries;
    },
  };
}
