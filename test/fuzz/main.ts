import { fileURLToPath } from 'node:url';
import { readCommandLine } from '@agent-workflow/kit/command-line';
import { pythonWith, runPrinting } from '../servers/python.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { explained } from './explained.ts';

const version = '4.32.5';
const root = fileURLToPath(new URL('../../', import.meta.url));
/** Exit code for a machine that cannot have the fuzzer: nothing was found because nothing was looked for. */
const notInstalled = 3;
const {
  positionals: [seed = '1'],
} = readCommandLine({
  usage: `usage: npm run fuzz -- [SEED]
  Sends what Schemathesis makes of /openapi.json to a service of its own (seed 1)`,
  most: 1,
});

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const programs = await pythonWith(`schemathesis==${version}`);
if (programs === undefined) {
  print(`schemathesis ${version} could not be installed: this takes Python 3 and a package index`);
  process.exit(notInstalled);
}

await using workspace = await makeWorkspace('obedient');
await using service = await startStandalone({
  ...workspace.env,
  SERVICE_CONFIG: `${root}service.json`,
  LOG_LEVEL: 'error',
  RATE_LIMIT_REQUESTS: '0',
  MAX_STREAMS_PER_PRINCIPAL: '0',
});
const options = ['--checks', 'all', '--continue-on-failure', '--max-examples', '25', '--request-timeout', '20'];
const { text: printed } = await runPrinting(`${programs}/schemathesis`, [
  ...['run', `${service.url}/openapi.json`, '--seed', seed, '--workers', '2', '--no-color', ...options],
]);

interface Finding {
  readonly operation: string;
  readonly code: string;
  readonly status: number;
  readonly message: string;
}

/** The findings in what the fuzzer prints: under the line of each operation, one after the other. */
function* findingsIn(report: string): Generator<Finding> {
  let operation = '';
  for (const part of report.split(/\n(?=_{3,} )|\n(?=\d+\. Test Case ID)/)) {
    operation = /^_{3,} (.+?) _{3,}/.exec(part)?.[1] ?? operation;
    const status = Number(/^\[(\d{3})\]/m.exec(part)?.[1]);
    const message = /"message":("(?:[^"\\]|\\.)*")/.exec(part)?.[1] ?? '""';
    for (const [, code = ''] of part.matchAll(/^- (ST\d+)/gm))
      yield { operation, code, status, message: JSON.parse(message) as string };
  }
}

const cases = /(\d+) generated/.exec(printed)?.[1] ?? '0';
const findings = [...findingsIn(printed)];
const open = findings.filter(
  ({ code, status, message }) =>
    !explained.some((known) => known.code === code && known.status === status && known.message.test(message)),
);
const reported = Number(/found (\d+) unique failures/.exec(printed)?.[1] ?? 0);
print(`${cases} cases, seed ${seed}: ${findings.length} findings, ${open.length} of them unexplained`);
for (const { operation, code, status, message } of open) print(`${operation}: ${code} ${status} ${message}`);
const isWhole = Number(cases) > 1000 && findings.length >= reported && /^Seed: /m.test(printed);
if (!isWhole) print(printed.slice(-3000));
if (open.length > 0 || !isWhole || / errors? /.test(/^=+ .* =+$/m.exec(printed.slice(-200))?.[0] ?? ''))
  process.exitCode = 1;
