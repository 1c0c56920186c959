import { newId } from '@agent-workflow/kit/ids';
import { isLogText, type Log } from '@agent-workflow/kit/log';
import type { Env, Values } from '@agent-workflow/kit/env';
import { openObservation } from '@agent-workflow/runtime/observe';
import { openPoolCredentials } from '@agent-workflow/runtime/pool-credentials';
import { beginProcess, toGrpcOptions, type RunningProcess } from '@agent-workflow/runtime/process';
import { namesAgents, readServiceFile, type ServiceFile } from '@agent-workflow/runtime/service-file';
import type { RunClaim, RunFiles } from '@agent-workflow/protos/run-files';
import { within } from '@agent-workflow/protos/call';
import { connect } from '@agent-workflow/protos/wire/connect';
import { isReachable } from '@agent-workflow/protos/wire/reach';
import type { WireSecurity } from '@agent-workflow/protos/wire/security';
import { openWireServer } from '@agent-workflow/protos/wire/serve';
import { createGatewayRunFiles } from './adapters/gateway/run-files.ts';
import { showGranted, showSealed } from './adapters/gateway/shown.ts';
import { openNats } from './adapters/nats/nats.ts';
import { loadAgents } from './agents/load.ts';
import { executionProcessChecks, executionProcessSettings, poolWarnings } from './config.ts';
import { toNatsOptions } from './adapters/nats/settings.ts';
import { agentsElsewhere, atRevision, type Agents } from './record/agents.ts';
import { natsMetrics } from './metrics.ts';
import { createHeldGrants } from './held-grants.ts';
import { observeExecution } from './observed.ts';
import { untilCallerKnown } from './registration.ts';
import { checkPoolName } from './pool-name.ts';
import { openExecution } from './open.ts';
import type { HeldAgents } from './ports/queue.ts';
import { createOnRecord } from './record/on-record.ts';
import { openWatchdog } from './watchdog/watchdog.ts';

/**
 * The execution service as a process of its own, on NATS. Until NATS answers, the process is alive and not ready. In the role
 * `api` it drives no runs; a `worker` gets no calls from the gateway.
 */
export async function openExecutionProcess(env: Env, stopping: AbortSignal): Promise<RunningProcess> {
  const { values, log } = beginProcess('execution', {
    settings: executionProcessSettings,
    checks: executionProcessChecks,
    env,
  });
  const file = readServiceFile(values.SERVICE_CONFIG);
  const isOfPool = values.POOL !== undefined;
  await using opened = new AsyncDisposableStack();
  const observed = opened.use(
    await openObservation({ service: 'execution', values, log, host: values.GRPC_HOST, file }),
  );
  const { served: around, onUnknownCaller, calling } = observed;
  const { onPoolRefusal: count, onPoolLimited: countLimited } = observed;
  const pools = openPoolCredentials({ values, log, count, countLimited });
  if (pools) opened.use(pools);
  const options = toGrpcOptions(values, log, pools);
  const watched = {
    limitMs: values.BLOCK_LIMIT_MS,
    runs: values.RUN_CONCURRENCY,
    isText: isLogText(values.LOG_FORMAT),
  };
  const watchdog = opened.use(openWatchdog({ ...watched, log }));
  const agents = await agentsOf(file, values, log);
  const wire = opened.use(await openWireServer(['execution'], { ...options, around, onUnknownCaller }));
  // A worker without POOL may have the token of a pool all the same: then its claims come with grants.
  const grants = values.ROLE === 'worker' ? createHeldGrants({ log }) : undefined;
  const connected = {
    threads: calling('threads', opened.use(connect('threads', values.THREADS_ADDRESS, options.security))),
    memory: calling('memory', opened.use(connect('memory', values.MEMORY_ADDRESS, options.security))),
  };
  for (const warning of poolWarnings(values, env)) log.warn(warning);
  if (values.POOL !== undefined)
    await checkPoolName({ pool: values.POOL, agents, threads: connected.threads, log, signal: stopping });
  const bound = grants?.bind(connected);
  const { threads, memory } = bound ?? connected;
  const files = filesOf(values, isOfPool ? bound?.tokenOf : undefined);
  const { EVENTS_RETENTION: retention, LEASE_MS: leaseMs } = values;
  const name = `execution (${values.ROLE}) ${newId()}`;
  const pool = poolOf(values, agents);
  if (values.ROLE === 'api') await untilCallerKnown({ threads, log, stopping });
  else opened.use(watchMemoryOf({ address: values.MEMORY_ADDRESS, security: options.security, log }));
  const refused = observed.registry?.make(natsMetrics).refused;
  const nats = opened.use(
    await openNats(
      {
        ...toNatsOptions({ values, name, retention, leaseMs, pool, log }),
        health: observed.health.part('nats'),
        onRefused: (operation) => refused?.add({ operation }),
        answersPools: values.ROLE === 'worker' ? undefined : { onRecord: createOnRecord(threads) },
      },
      stopping,
    ),
  );
  const drives = values.ROLE !== 'api';
  const slots = drives ? values.RUN_CONCURRENCY : 0;
  const { execution, drain } = opened.use(
    await openExecution({
      ...observeExecution({ ...nats, agents, threads, watchdog }, { ...observed, slots }),
      ...{ memory, log, values, drives, accepts: values.ROLE !== 'worker', health: observed.health },
      ...{ workerId: nats.workerId, housekeeps: pool === undefined && !isOfPool },
      ...{ files, stopping },
      ...(grants && { onDriven: grants.driven }),
      sweepMs: values.LEASE_MS / 3,
    }),
  );
  wire.provide('execution', execution);
  // At the end: takes no more runs, waits for those under way and for the calls that follow them, and hands off the rest.
  opened.defer(async () => {
    await Promise.all([wire[Symbol.asyncDispose](), drain(Math.max(minDrainMs, options.drainMs))]);
  });
  opened.use(observed.serving());
  const everything = opened.move();
  return {
    startLines: [
      ...observed.startLines,
      ...agentsLinesOf(agents),
      `execution (${values.ROLE}) listens on ${wire.address}`,
    ],
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

interface MemoryPlace {
  readonly address: string;
  readonly security: WireSecurity;
  readonly log: Log;
}

const reachedWithinMs = 10_000;

/**
 * Warns once when the memory service cannot be reached at the start. Nodes that use it wait for it, and a process whose nodes use none
 * needs none: it starts all the same. Disposal ends the attempt.
 */
function watchMemoryOf({ address, security, log }: MemoryPlace): Disposable {
  const leaving = new AbortController();
  void isReachable(address, security, within(reachedWithinMs, leaving.signal)).then((is) => {
    if (!is && !leaving.signal.aborted)
      log.warn(`the memory service does not answer at ${address} (MEMORY_ADDRESS): nodes that use it wait`);
  });
  return { [Symbol.dispose]: () => leaving.abort() };
}

/** The files behind the gateway, reached by the secret, or by a worker of a pool with the grants of its runs. */
function filesOf(
  {
    FILES_URL: url,
    FILES_SECRET: secrets,
  }: Pick<Values<typeof executionProcessSettings>, 'FILES_URL' | 'FILES_SECRET'>,
  tokenOf: ((claim: RunClaim) => Promise<string>) | undefined,
): RunFiles | undefined {
  const show = secrets ? showSealed(secrets) : tokenOf && showGranted(tokenOf);
  return url !== undefined && show ? createGatewayRunFiles({ url, show }) : undefined;
}

/** A process that drives no runs needs no code of agents: where its `service.json` names none, it serves those that are registered. */
async function agentsOf(
  file: ServiceFile,
  { ROLE: role, AGENT_REVISION: revision }: Pick<Values<typeof executionProcessSettings>, 'ROLE' | 'AGENT_REVISION'>,
  log: Log,
): Promise<Agents> {
  if (role === 'api' && !namesAgents(file)) return agentsElsewhere(file.defaultAgent);
  return atRevision(await loadAgents(file, (warning) => log.warn(warning)), revision);
}

/** What a worker of a pool holds; `undefined` for a process that may do everything on NATS. */
function poolOf(
  { NATS_ACCESS: access }: Pick<Values<typeof executionProcessSettings>, 'NATS_ACCESS'>,
  { list, revision }: Agents,
): HeldAgents | undefined {
  if (access === 'all') return undefined;
  return { agents: list.map(({ name }) => name), ...(revision === undefined ? {} : { revision }) };
}

const agentsLinesOf = ({ areRegistered, defaultName }: Agents): readonly string[] =>
  areRegistered === true ? [`agents: those that are registered; default: ${defaultName ?? 'none'}`] : [];

/** Time that runs have to reach their next commit, in milliseconds. */
const minDrainMs = 500;
