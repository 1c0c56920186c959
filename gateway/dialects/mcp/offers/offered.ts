import type { Askable } from '../wire/client.ts';
import type { Fields } from '../wire/fields.ts';

/** A tool, a resource or a prompt of an agent. */
export interface Offered {
  readonly agent: string;
  /** As callers see it. */
  readonly shown: Fields;
}

export interface OfferedTool extends Offered {
  readonly name: string;
  /** Whether it is the agent itself: its node reads a message, and not a call. */
  readonly isAgent: boolean;
  /** What its client must have declared. */
  readonly needs: readonly Askable[];
  /** Whether a call that takes longer becomes a task; `required`: other clients than those that know tasks cannot call it. */
  readonly task: boolean | 'required';
  /** Whether what it asks at once is asked before there is a task. */
  readonly inputFirst: boolean;
}

export interface OfferedPrompt extends Offered {
  readonly name: string;
}

export interface OfferedResource extends Offered {
  readonly uri: string;
}

export interface OfferedTemplate extends Offered {
  readonly template: string;
}

/** What all agents offer, in a stable order. Of two with one name the first counts. */
export interface Offers {
  readonly tools: ReadonlyMap<string, OfferedTool>;
  readonly prompts: ReadonlyMap<string, OfferedPrompt>;
  readonly resources: ReadonlyMap<string, OfferedResource>;
  readonly templates: readonly OfferedTemplate[];
}
