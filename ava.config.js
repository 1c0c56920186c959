import { recordEvents } from './test/ci/record.ts';
import { longestFirst } from './test/ci/longest-first.ts';
import { byLoad } from './test/by-load.ts';

// `test/ci/main.ts` names the file that it reads what became of each test from.
const { TEST_EVENTS: path = '' } = process.env;

export default {
  files: [
    'test/**/*.test.ts',
    '!test/cookbook/**',
    'protos/**/*.test.ts',
    'services/**/*.test.ts',
    '!services/command/init/template/**',
    'gateway/**/*.test.ts',
    'deploy/**/*.test.ts',
  ],
  extensions: ['ts'],
  timeout: `${byLoad(300_000)}ms`,
  workerThreads: false,
  sortTestFiles: longestFirst,
  ...(path !== '' && {
    nonSemVerExperiments: { observeRunsFromConfig: true },
    observeRun: ({ events }) => recordEvents(events, path),
  }),
};
