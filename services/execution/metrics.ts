import { counter, gauge, histogram } from '@agent-workflow/runtime/metrics';
import { endStatuses } from '@agent-workflow/protos/lists';
import { finishReasons } from '@agent-workflow/protos/usage';
import { deliveryOutcomes } from './webhooks/deliver.ts';

/** Names of agents, and of their nodes and tools, that are counted by themselves. */
const names = 200;
/** Names of models that are counted by themselves. */
const models = 64;
const runSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];
const deliverySeconds = [0.1, 0.5, 1, 5, 15, 60, 600, 3600, 86_400];
const nodeSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** What the execution service measures. What a role does not do stays at 0. */
export const executionMetrics = {
  accepted: counter('agent_workflow_runs_accepted_total', 'Runs accepted; a request sent again counts again', {
    agent: names,
  }),
  ended: counter('agent_workflow_runs_ended_total', 'Runs ended, each once, by the process that ended it', {
    status: endStatuses,
  }),
  givenUp: counter(
    'agent_workflow_runs_given_up_total',
    'Runs claimed too often without a commit, and ended for that; they also count as failed',
  ),
  takeovers: counter(
    'agent_workflow_run_takeovers_total',
    'Claims of a run that another claim had before: after a death, or handed off',
  ),
  woken: counter('agent_workflow_runs_woken_total', 'Sleeping runs that were claimed when their time had come'),
  driving: gauge('agent_workflow_runs_driving', 'Runs that this process drives'),
  slots: gauge('agent_workflow_run_slots', 'Runs that this process may drive at once'),
  wait: histogram(
    'agent_workflow_run_wait_seconds',
    'Time from the acceptance of a run to its first claim, at the clocks of two processes',
    {},
    runSeconds,
  ),
  seconds: histogram(
    'agent_workflow_run_seconds',
    'Time from the claim of a run until this process released it',
    {},
    runSeconds,
  ),
  queueWaiting: gauge(
    'agent_workflow_queue_waiting_runs',
    'Runs in the queue as far as this process knows: what RUN_BACKLOG and AGENT_BACKLOG are held against',
    { agent: names, revision: names },
  ),
  waiting: gauge(
    'agent_workflow_runs_waiting',
    'Runs on record that wait to be claimed, of all processes, when the last sweep looked',
  ),
  underWay: gauge(
    'agent_workflow_runs_under_way',
    'Runs on record that are driven, of all processes, when the last sweep looked',
  ),
  agentRuns: gauge(
    'agent_workflow_agent_runs',
    'Runs of an agent on record that wait to be claimed or are driven, of all processes, when the last sweep looked',
    { agent: names },
  ),
  revisionRuns: gauge(
    'agent_workflow_revision_runs',
    'Runs of a registered revision that wait to be claimed or are driven, of all processes; a revision that is retired has none',
    { agent: names, revision: names },
  ),
  revisionWorkers: gauge(
    'agent_workflow_revision_workers',
    'Live workers that hold an agent at a registered revision, of all processes; none where it is not known',
    { agent: names, revision: names },
  ),
  oldestWait: gauge(
    'agent_workflow_runs_oldest_wait_seconds',
    'Time that the oldest run has waited that holds its thread and is not claimed; 0 when there is none',
  ),
  swept: gauge(
    'agent_workflow_sweep_last_success_timestamp_seconds',
    'When the last sweep ended, in Unix time: the three above are as old as that',
  ),
  steps: counter('agent_workflow_steps_committed_total', 'Steps committed to the record'),
  nodeSeconds: histogram(
    'agent_workflow_node_seconds',
    'Time of one attempt at a node',
    { agent: names, node: names },
    nodeSeconds,
  ),
  nodeFailures: counter('agent_workflow_node_failures_total', 'Attempts at a node that threw', {
    agent: names,
    node: names,
  }),
  toolSeconds: histogram(
    'agent_workflow_tool_seconds',
    'Time of one call of a tool',
    { agent: names, tool: names },
    nodeSeconds,
  ),
  toolFailures: counter('agent_workflow_tool_failures_total', 'Calls of a tool that threw', {
    agent: names,
    tool: names,
  }),
  tokens: counter(
    'agent_workflow_model_tokens_total',
    'Tokens of models that steps reported, counted once their step is committed',
    { model: models, type: ['input', 'output'] },
  ),
  answers: counter(
    'agent_workflow_model_answers_total',
    'Answers of models that steps reported, by why they ended, counted once their step is committed',
    { model: models, finish_reason: finishReasons },
  ),
  deliveriesDue: gauge(
    'agent_workflow_webhook_deliveries_due',
    'Deliveries to webhooks that were due, of all processes, when the last sweep looked',
  ),
  webhookAttempts: counter(
    'agent_workflow_webhook_attempts_total',
    'Attempts to deliver to a webhook: taken, refused by the status of the reply, or without a reply; also those that may not be sent',
    { outcome: deliveryOutcomes },
  ),
  deliverySeconds: histogram(
    'agent_workflow_webhook_delivery_seconds',
    'Time from when a delivery was first due until it was taken, at the clocks of two processes',
    {},
    deliverySeconds,
  ),
  deadLetters: counter('agent_workflow_webhook_dead_letters_total', 'Deliveries to webhooks that were given up'),
  events: counter('agent_workflow_events_appended_total', 'Events written to the logs of runs'),
  followers: gauge('agent_workflow_followers', 'Streams and waits that follow a run here'),
  leaseHeld: gauge(
    'agent_workflow_lease_held',
    'Whether the lease of the worker here holds: at 0 others take its runs over',
  ),
};

/** What is measured of NATS. */
export const natsMetrics = {
  refused: counter(
    'agent_workflow_nats_refusals_total',
    'Messages and subscriptions that NATS refused, because the user of this process lacks the permission',
    { operation: ['publish', 'subscription'] },
  ),
};
