import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { withServer } from '../servers/real-suite.ts';
import { goldenOf, manifestsOf, render } from './render.ts';
import { charts, scenarios, type Scenario } from './scenarios.ts';
import { chartTools } from './tools.ts';
import { readUpgrade, upgradeOf, type Roll } from './upgrade-order.ts';

const parts = ['execution-api', 'execution-worker', 'gateway', 'memory', 'threads'];

/** What a scenario replaces, in the order in which Helm changes it. */
function partsOf({ title, chart }: Scenario): readonly string[] {
  if (chart === 'standalone') return ['standalone'];
  if (chart === 'agent') return ['agent', 'agent'];
  if (title === 'agent-workflow-pools')
    return [...parts.filter((part) => part !== 'execution-worker'), 'agent', 'agent', 'agent'];
  return parts;
}

for (const scenario of scenarios) {
  const isOne = scenario.chart === 'standalone';
  const then = isOne
    ? 'ends its one pod before the new one'
    : scenario.chart === 'agent'
      ? 'has a new pod for each old one, and then registers a revision'
      : 'brings the tables up to date, then has a new pod for each old one';
  test(`an upgrade of ${scenario.title} ${then}`, async (t) => {
    const { jobs, rolls } = upgradeOf(manifestsOf(await readFile(goldenOf(scenario), 'utf8')));
    t.deepEqual(jobs, scenario.chart === 'agent-workflow' ? ['demo-threads-migrate'] : []);
    t.deepEqual(
      rolls.map(({ component }) => component),
      partsOf(scenario),
    );
    for (const { name, maxUnavailable, maxSurge, preStopSeconds, drainSeconds, graceSeconds } of rolls) {
      t.deepEqual([maxUnavailable, maxSurge], isOne ? [1, 0] : [0, 1], name);
      t.true(graceSeconds > preStopSeconds + drainSeconds, name);
    }
  });
}

const timesOf = ({ component, preStopSeconds, drainSeconds, graceSeconds }: Roll): unknown[] => [
  component,
  preStopSeconds,
  drainSeconds,
  graceSeconds,
];

test('what every part is given to drain is what its pods are told and what they are waited for', async (t) => {
  const { rolls } = await readUpgrade();
  t.deepEqual(rolls.map(timesOf), [
    ['execution-api', 5, 30, 45],
    ['execution-worker', 0, 600, 610],
    ['gateway', 5, 30, 45],
    ['memory', 5, 30, 45],
    ['threads', 5, 30, 45],
  ]);
});

withServer(test, chartTools, () => {
  test('an upgrade that is read with another time to drain is the one that Helm makes of that time', async (t) => {
    const chartFolder = join(charts, 'agent-workflow');
    const sections = ['gateway', 'threads', 'memory', 'execution.api', 'execution.worker'];
    const more = sections.flatMap((section) => ['--set', `${section}.drainSeconds=5`]);
    const rendered = await render({ chartFolder, values: join(chartFolder, 'values/small.yaml') }, { more });
    t.deepEqual(await readUpgrade(5), upgradeOf(manifestsOf(rendered)));
  });
});
