import { execFile } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { promisify } from 'node:util';
import pRetry from 'p-retry';

const execute = promisify(execFile);

/**
 * For commands of npm: the Node that the repository pins comes before what the machine has, errors are printed also below `npm run --silent`,
 * and a request to the registry is tried for a minute and a half (1, 3, 9, 27 and 60 s between the tries).
 */
export const npmEnv: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
  npm_config_loglevel: 'error',
  npm_config_fetch_retries: '5',
  npm_config_fetch_retry_factor: '3',
  npm_config_fetch_retry_mintimeout: '1000',
};

/** Runs a command in the folder with that environment. @returns what it printed. @throws Error with that and how the command ended. */
export async function run(folder: string, command: string, ...args: readonly string[]): Promise<string> {
  try {
    const { stdout, stderr } = await execute(command, [...args], {
      cwd: folder,
      env: npmEnv,
      maxBuffer: 16 * 1024 * 1024,
    });
    return stdout + stderr;
  } catch (error) {
    const { stdout, stderr, code, signal } = error as Record<'stdout' | 'stderr' | 'code' | 'signal', unknown>;
    const end = typeof signal === 'string' ? signal : `exit code ${String(code)}`;
    throw new Error(`${command} ${args.join(' ')}: ${end}: ${String(stdout)}${String(stderr)}`, { cause: error });
  }
}

/**
 * `npm install` or `npm ci` in the folder. npm does not try again after every failure of a registry, so the command is run up to three times:
 * a fault of the packages fails each of them. @throws Error as {@link run}
 */
export async function npmInstalls(
  folder: string,
  command: 'install' | 'ci',
  ...args: readonly string[]
): Promise<void> {
  const tried = (): Promise<string> => run(folder, 'npm', command, '--no-audit', '--no-fund', ...args);
  await pRetry(tried, {
    retries: 2,
    minTimeout: 5000,
    onFailedAttempt: ({ error, attemptNumber }) => {
      process.stderr.write(`try ${String(attemptNumber)} failed: ${error.message}\n`);
    },
  });
}
