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

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** As pino numbers them. */
const levelNames: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};
