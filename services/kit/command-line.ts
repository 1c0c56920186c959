import { parseArgs, type ParseArgsConfig } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Given<T extends Options> = ReturnType<typeof parseArgs<{ options: T; allowPositionals: boolean; args: string[] }>>;

interface CommandLine<T extends Options> {
  readonly usage: string;
  readonly options?: T;
  /** How many arguments may stand beside the options; none when absent. */
  readonly most?: number;
}

/**
 * What the command line gives. With `--help` the process prints the usage and ends with 0; with an option or an argument that the command does
 * not have, it names that and ends with 2.
 */
export function readCommandLine<const T extends Options>(
  { usage, options, most = 0 }: CommandLine<T>,
  args: readonly string[] = process.argv.slice(2),
): Given<T> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  try {
    const given = parseArgs({ args: [...args], options: options ?? ({} as T), allowPositionals: true });
    const unknown = given.positionals[most];
    if (unknown !== undefined) throw new Error(`"${unknown}" is one argument too many`);
    return given;
  } catch (error) {
    return refuseCommandLine(error instanceof Error ? error.message : String(error), usage);
  }
}

/** Ends the process with 2 for a command line that it does not understand. */
export function refuseCommandLine(why: string, usage?: string): never {
  process.stderr.write(usage === undefined ? `${why}\n` : `${why}\n\n${usage}\n`);
  process.exit(2);
}
