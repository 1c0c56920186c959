/** A line of the log as people read it: time, level, message, then its other fields. What is no JSON object stays as it is. */
export function toLogText(line: string): string {
  const entry = parse(line);
  if (entry === undefined) return line;
  const { time, level, msg, service: _, config: __, ...rest } = entry;
  const clock = String(time).slice(11, 19);
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${shown(value)}`);
  return [clock, levelNames[Number(level)] ?? String(level), String(msg), ...fields].join(' ');
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(isPlain(value) ? reasonsOf(value).join(': ') : value);

/** An error of the log without a stack: its messages are all that there is to read. */
interface PlainError {
  readonly message: string;
  readonly cause?: unknown;
}

function isPlain(value: unknown): value is PlainError {
  if (typeof value !== 'object' || value === null || !('type' in value) || !('message' in value)) return false;
  if ('stack' in value || 'errors' in value || typeof value.message !== 'string') return false;
  return !('cause' in value) || isPlain(value.cause);
}

/** The message of an error and those of its causes; one that repeats the message before it is left out. */
const reasonsOf = ({ message, cause }: PlainError): readonly string[] => {
  const [first, ...rest] = isPlain(cause) ? reasonsOf(cause) : [];
  const isRepeated = first !== undefined && (message.endsWith(first) || first.endsWith(message));
  return first === undefined || isRepeated ? [message, ...rest] : [message, first, ...rest];
};

/** As pino numbers them. */
const levelNames: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};
