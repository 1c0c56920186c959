import { readFileSync } from 'node:fs';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { isCluster } from '../../http/shape.ts';
import { kitVersion, runKit, type Scenario } from '../../servers/mcp-conformance.ts';
import { serveMcp } from './service.ts';

const { url } = serveMcp(test);
const page = readFileSync(new URL('../../../gateway/guide/mcp.md', import.meta.url), 'utf8');

const isWhole = ({ failed }: Scenario): boolean => failed === 0;
const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);

/** The row of a table: how many scenarios are whole, and how many of their checks hold. */
const score = (scenarios: readonly Scenario[]): string =>
  `${String(scenarios.filter(isWhole).length)} of ${String(scenarios.length)}`;

for (const version of ['2025-11-25', '2026-07-28'])
  test.serial(`the conformance kit finds in ${version} what the guide says`, async (t) => {
    t.timeout(byLoad(300_000));
    const scenarios = await runKit(`${url()}/mcp`, version);
    t.deepEqual(
      scenarios.filter((one) => !isWhole(one)),
      [],
    );
    const passed = sum(scenarios.map((one) => one.passed));
    const all = passed + sum(scenarios.map((one) => one.failed));
    const scored = score(scenarios.filter(({ isScored }) => isScored));
    // The kit has more checks for a stream, and in a cluster more calls are answered with one.
    const checks = isCluster ? '' : ` ${String(passed)} of ${String(all)} |`;
    const row = `| ${version} | ${scored} |${checks}`;
    t.log(row);
    t.true(page.includes(row), row);
    t.true(page.includes(kitVersion));
    const tasks = scenarios.filter(({ name }) => name.startsWith('tasks-'));
    if (tasks.length > 0) t.true(page.includes(`| ${version}, tasks | ${score(tasks)} | |`), score(tasks));
  });
