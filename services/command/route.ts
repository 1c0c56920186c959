import type { AgentRegistration } from '@agent-workflow/client';
import { isAgentName, mustBeAgentName } from '@agent-workflow/kit/agents';
import { clientOf, isGatewayFault, type Gateway } from './gateway.ts';

interface RouteOptions extends Gateway {
  readonly agent: string;
  /** The revision that is to serve new runs; absent: the one that does now. */
  readonly current: string | undefined;
  /** A second revision and its share in percent, as `revision=percent`; absent: none. */
  readonly ramp: string | undefined;
}

/**
 * Says at a gateway which revisions of an agent serve new runs, and prints what it answers; what it warns of goes to standard error.
 * @returns 1 when it refuses or cannot be reached, or another process has changed the routing meanwhile; 2 when the command is wrong.
 */
export async function route({ agent, current: given, ramp, ...gateway }: RouteOptions): Promise<number> {
  if (!isAgentName(agent)) return fail(2, `"${agent}" ${mustBeAgentName}`);
  const ramping = ramp === undefined ? undefined : readRamp(ramp);
  if (ramp !== undefined && !ramping) return fail(2, '--ramp must be <revision>=<percent>, as --ramp v2=10');
  try {
    const { agents } = clientOf(gateway);
    const { routing } = await agents.get(agent);
    if (!routing) return fail(1, `agent "${agent}" has no registered revision`);
    const current = given ?? routing.current ?? undefined;
    if (current === undefined) return fail(2, `agent "${agent}" has no current revision: name one with --current`);
    const { warnings = [], ...routed } = await agents.route(agent, {
      version: routing.version,
      current,
      ramping: ramping ?? null,
    });
    process.stdout.write(`${lineOf(routed)}\n`);
    for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
    return 0;
  } catch (error) {
    if (isGatewayFault(error)) return fail(1, error.message);
    throw error;
  }
}

function fail(code: 1 | 2, why: string): 1 | 2 {
  process.stderr.write(`${why}\n`);
  return code;
}

/** The name of a revision holds no `=`. */
function readRamp(text: string): { readonly revision: string; readonly percent: number } | undefined {
  const [revision = '', percent = '', ...more] = text.split('=');
  const isShare = percent !== '' && Number.isFinite(Number(percent));
  return revision === '' || !isShare || more.length > 0 ? undefined : { revision, percent: Number(percent) };
}

function lineOf({ name, routing: { version, current, ramping } }: AgentRegistration): string {
  const share = ramping ? [`ramping ${ramping.revision} ${String(ramping.percent)} %`] : [];
  return [`agent ${name}`, `current ${current ?? 'none'}`, ...share, `routing version ${String(version)}`].join(', ');
}
