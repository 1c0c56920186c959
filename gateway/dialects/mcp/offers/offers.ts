import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Agent, Execution } from '@agent-workflow/protos/execution';
import { LRUCache } from 'lru-cache';
import { jsonText } from '../../../http/json.ts';
import { askable } from '../wire/client.ts';
import { fieldsOf, isObject, textIn, type Fields } from '../wire/fields.ts';
import { agentTool } from './agent-tool.ts';
import type { OfferedPrompt, OfferedResource, OfferedTemplate, OfferedTool, Offers } from './offered.ts';

/** How long they are remembered, in milliseconds. */
const rememberedMs = 10_000;

/** So many agents are read at the same time. */
const atOnce = 8;

/** How long they are remembered where an agent could not be read, and where they lack what a client names, in milliseconds. */
const briefMs = 1000;

type AgentReads = Pick<Execution, 'listAgents' | 'getGraph'>;

interface Remembered {
  readonly offers: Offers;
  readonly at: number;
}

const caches = new WeakMap<AgentReads, LRUCache<'offers', Remembered>>();

interface Freshness {
  /** What is older is read again, in milliseconds. */
  readonly mostMs?: number;
}

/** What the agents of the service offer to clients of MCP. An agent that cannot be read offers nothing for now. @throws what none could be read for */
export async function offersOf(
  execution: AgentReads,
  call: () => Call,
  { mostMs = rememberedMs }: Freshness = {},
): Promise<Offers> {
  const cache = caches.get(execution) ?? new LRUCache<'offers', Remembered>({ max: 1, ttl: rememberedMs });
  caches.set(execution, cache);
  const known = cache.get('offers');
  if (known && Date.now() - known.at < mostMs) return known.offers;
  const { agents } = await execution.listAgents({}, call());
  const read: PromiseSettledResult<AgentOffer>[] = [];
  for (let from = 0; from < agents.length; from += atOnce)
    read.push(
      ...(await Promise.allSettled(
        agents.slice(from, from + atOnce).map((agent) => readOffer(execution, agent, call)),
      )),
    );
  const failed = read.find((one) => one.status === 'rejected');
  const whole = read.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (failed && whole.length === 0) throw failed.reason;
  const offers = joined(whole);
  cache.set('offers', { offers, at: Date.now() }, { ttl: failed ? briefMs : rememberedMs });
  return offers;
}

/** What a client names among the offers. What is not there is looked up again: another replica may have listed what is new. */
export async function findOffer<T>(
  execution: AgentReads,
  call: () => Call,
  find: (offers: Offers) => T | undefined,
): Promise<T | undefined> {
  return find(await offersOf(execution, call)) ?? find(await offersOf(execution, call, { mostMs: briefMs }));
}

interface AgentOffer {
  readonly tools: readonly OfferedTool[];
  readonly prompts: readonly OfferedPrompt[];
  readonly resources: readonly OfferedResource[];
  readonly templates: readonly OfferedTemplate[];
}

const nothing: AgentOffer = { tools: [], prompts: [], resources: [], templates: [] };

/** An agent that has no revision now offers nothing. */
async function readOffer(execution: AgentReads, { name, description }: Agent, call: () => Call): Promise<AgentOffer> {
  const graph = await undefinedIfNotFound(execution.getGraph({ agent: name }, call()));
  if (!graph) return nothing;
  const { mcp } = fieldsOf(JSON.parse(jsonText(graph.graphJson)));
  const { tools, prompts, resources } = fieldsOf(mcp);
  const own = agentTool({ name, description, fields: JSON.parse(jsonText(graph.fieldsJson)) as Fields });
  return {
    tools: tools === undefined ? [own] : list(tools).flatMap((one) => toTool(name, one)),
    prompts: list(prompts).flatMap((shown) => {
      const named = textIn(shown['name']);
      return named === undefined ? [] : [{ agent: name, name: named, shown }];
    }),
    resources: list(resources).flatMap((shown) => {
      const uri = textIn(shown['uri']);
      return uri === undefined ? [] : [{ agent: name, uri, shown }];
    }),
    templates: list(resources).flatMap((shown) => {
      const template = textIn(shown['uriTemplate']);
      return template === undefined ? [] : [{ agent: name, template, shown }];
    }),
  };
}

/** Definitions of other teams may hold anything: what is no object is left out, and so is a field of another type than clients take. */
const list = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter(isObject).map((shown) => fitting(shown)) : [];

const texts: ReadonlySet<string> = new Set(['title', 'description', 'mimeType']);
const objects: ReadonlySet<string> = new Set(['annotations', '_meta']);

/** One field that does not fit would have clients refuse the lists of all agents. */
const fitting = (shown: Fields): Fields =>
  Object.fromEntries(
    Object.entries(shown).filter(([name, value]) => {
      if (texts.has(name)) return typeof value === 'string';
      if (name === 'outputSchema') return fieldsOf(value)['type'] === 'object';
      return !objects.has(name) || isObject(value);
    }),
  );

function toTool(agent: string, { needs, task, inputFirst, ...shown }: Fields): readonly OfferedTool[] {
  const name = textIn(shown['name']);
  if (name === undefined || fieldsOf(shown['inputSchema'])['type'] !== 'object') return [];
  return [
    {
      ...{
        agent,
        name,
        shown,
        isAgent: false,
        inputFirst: inputFirst === true,
        task: task === 'required' ? task : task === true,
      },
      needs: Array.isArray(needs) ? askable.filter((each) => needs.includes(each)) : [],
    },
  ];
}

function joined(all: readonly AgentOffer[]): Offers {
  const offers = { tools: new Map(), prompts: new Map(), resources: new Map() } as {
    readonly tools: Map<string, OfferedTool>;
    readonly prompts: Map<string, OfferedPrompt>;
    readonly resources: Map<string, OfferedResource>;
  };
  const own = new Set(all.flatMap(({ tools }) => tools.flatMap(({ isAgent, name }) => (isAgent ? [name] : []))));
  for (const { tools, prompts, resources } of all) {
    // An agent keeps its name, whatever others offer.
    for (const tool of tools.filter(({ isAgent, name }) => isAgent || !own.has(name)))
      if (!offers.tools.has(tool.name)) offers.tools.set(tool.name, tool);
    for (const prompt of prompts) if (!offers.prompts.has(prompt.name)) offers.prompts.set(prompt.name, prompt);
    for (const one of resources) if (!offers.resources.has(one.uri)) offers.resources.set(one.uri, one);
  }
  return { ...offers, templates: all.flatMap(({ templates }) => templates) };
}
