import { usable, type ToolName } from '../servers/provisioned.ts';
import type { Launcher } from '../servers/real.ts';

/** Why these tools cannot be used, in a sentence; `undefined` when all are there. */
export function absenceOf(...tools: readonly ToolName[]): string | undefined {
  const absent = tools.filter((tool) => usable(tool) === undefined);
  return absent.length === 0
    ? undefined
    : `${absent.join(', ')}: absent, and with that what the charts are tried with: run \`npm run servers -- --kubernetes\` and set REQUIRE_SERVERS=1`;
}

/** What renders and validates charts without a cluster: there is nothing to open. */
export const chartTools: Launcher<object> = {
  title: 'the tools of the charts',
  absence: () => absenceOf('helm', 'helm3', 'kubeconform', 'apis'),
  open: async () => ({ [Symbol.asyncDispose]: async () => undefined }),
};
