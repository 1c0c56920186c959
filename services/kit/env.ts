/** One environment variable: how it is read, its default, and its sentence in `deploy/settings.md`. */
export interface Setting<T> {
  readonly doc: string;
  readonly fallback: T;
  readonly secret?: boolean;
  /** Whether it must be set: then `fallback` is not used. */
  readonly isRequired?: boolean;
  readonly read: (text: string) => T | Problem;
}

/** Why a text is not a value of a setting. */
interface Problem {
  readonly problem: string;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;
export type Values<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };
export type Env = Readonly<Record<string, string | undefined>>;

interface SettingOptions {
  readonly secret?: boolean;
}

/** A text setting. `fallback` may be `undefined` for a setting that is off unless it is set. */
export const text = <T extends string | undefined>(
  fallback: T,
  doc: string,
  options: SettingOptions = {},
): Setting<string | T> => ({
  doc,
  fallback,
  ...options,
  read: (value) => value,
});

/** A text that must be set. */
export const required = (doc: string, options: SettingOptions = {}): Setting<string> => ({
  doc: `${doc} (must be set)`,
  fallback: '',
  isRequired: true,
  ...options,
  read: (value) => value,
});

/** A whole number from `min` to `max`, both included; `fallback` may be `undefined` for a setting whose default depends on others. */
export const integer = <T extends number | undefined>(
  fallback: T,
  doc: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER } = {},
): Setting<number | T> => ({
  doc,
  fallback,
  read: (value) => {
    const number = Number(value);
    if (/^-?\d+$/.test(value) && number >= min && number <= max) return number;
    return { problem: `must be a whole number from ${String(min)} to ${String(max)}` };
  },
});

/** One of a closed list of words. */
export const choice = <const T extends string>(options: readonly T[], fallback: T, doc: string): Setting<T> => ({
  doc: `${doc} (${options.map((option) => `\`${option}\``).join(', ')})`,
  fallback,
  read: (value) => options.find((option) => option === value) ?? { problem: `must be one of ${options.join(', ')}` },
});

/** Stops the start of the process. Its message names every fault of the configuration, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** What must hold between settings, as that one is set where another is. */
export interface CrossCheck<S extends Settings> {
  /** The names of these settings. It is made where none of them has a fault of its own. */
  readonly reads: readonly string[];
  /** @throws ConfigError when they do not fit together. */
  readonly refuse: (values: Values<S>) => unknown;
}

/** A check between `settings`, and no others. `refuse` throws a ConfigError when their values do not fit together. */
export const crossCheck = <S extends Settings>(settings: S, refuse: CrossCheck<S>['refuse']): CrossCheck<S> => ({
  reads: Object.keys(settings),
  refuse,
});

/**
 * Reads the settings from an environment. An empty text counts as not set.
 * @throws ConfigError naming every variable with an invalid value, and what `checks` find.
 */
export function readEnv<S extends Settings>(
  settings: S,
  env: Env,
  checks: readonly CrossCheck<NoInfer<S>>[] = [],
): Values<S> {
  const faults = new Map<string, string>();
  const entries = Object.entries(settings).map(([name, setting]) => {
    const given = env[name];
    if (given === undefined || given === '') {
      if (setting.isRequired) faults.set(name, `${name} must be set`);
      return [name, setting.fallback];
    }
    const value = setting.read(given);
    if (isProblem(value))
      faults.set(
        name,
        `${name} ${value.problem}, not ${setting.secret ? '(hidden)' : JSON.stringify(withoutPassword(given))}`,
      );
    return [name, value];
  });
  const values = Object.fromEntries(entries) as Values<S>;
  const ready = checks.filter(({ reads }) => !reads.some((name) => faults.has(name)));
  const problems = [...faults.values(), ...ready.flatMap(({ refuse }) => problemsIn(() => refuse(values)))];
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return values;
}

function problemsIn(check: () => unknown): readonly string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [error.message];
    throw error;
  }
}

/** The values of the settings with secrets and passwords in addresses masked, for the log line of the start. Settings without a value are left out. */
export function printable<S extends Settings>(settings: S, values: Values<S>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings)
      .filter(([name]) => values[name] !== undefined)
      .map(([name, setting]) => [name, setting.secret ? '***' : withoutPassword(values[name])]),
  );
}

/** An address as `https://name:password@host` without its name and password. Of a list of such addresses the last host is left: a password may hold anything. */
function withoutPassword<T>(value: T): T | string {
  if (typeof value !== 'string') return value;
  const [begin, end] = [value.indexOf('//'), value.lastIndexOf('@')];
  return begin < 0 || end < begin ? value : `${value.slice(0, begin)}//***${value.slice(end)}`;
}

/** The environment of this process. No other place reads it. */
export const processEnv = (): Env => process.env;

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' && value !== null && 'problem' in value;
