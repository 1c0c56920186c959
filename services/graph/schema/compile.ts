import {
  createSeen,
  Evaluation,
  TooComplex,
  type Check,
  type CheckOptions,
  type Fault,
  type Plan,
} from './evaluation.ts';
import type { Keywords } from './keywords.ts';
import { createPattern, maxStates, type Pattern } from './pattern.ts';
import { findReferences, type References } from './references.ts';
import { keywordChecks, type Maker } from './keyword-checks.ts';

/** A schema that is ready to check values. No code is made of it. */
export interface Compiled {
  /** Whether it takes a value, and which faults the value has; `undefined` when that takes more steps than it may. */
  readonly check: (
    value: unknown,
    options: CheckOptions,
  ) => { readonly passes: boolean; readonly faults: readonly Fault[] } | undefined;
}

/** @throws Error that says which reference or pattern of the schema has a fault. */
export function compile(root: Keywords): Compiled {
  const maker = createMaker(findReferences(root));
  const plan = maker.plan(root);
  const tracksSeen = JSON.stringify(root).includes('"unevaluated');
  return {
    check: (value, options) => {
      const evaluation = new Evaluation(options);
      if (tracksSeen) evaluation.seen = createSeen();
      try {
        return { passes: evaluation.by(plan, value), faults: evaluation.faults };
      } catch (error) {
        // A value that is nested too deeply for the functions that compare values overflows the stack.
        if (error instanceof TooComplex || error instanceof RangeError) return undefined;
        throw error;
      }
    },
  };
}

const always: Plan = { checks: [], isNullable: false };
const never: Plan = { checks: [(_, evaluation) => evaluation.fault('boolean schema is false')], isNullable: false };

function createMaker(references: References): Maker {
  const plans = new Map<Keywords, Plan>();
  const patterns = new Map<string, Pattern>();
  const size = { left: maxStates };
  const maker: Maker = {
    references,
    plan: (schema) => {
      if (typeof schema === 'boolean') return schema ? always : never;
      const known = plans.get(schema);
      if (known) return known;
      const plan: Plan = { checks: [], isNullable: schema['nullable'] === true };
      plans.set(schema, plan);
      plan.checks = checksOf(schema, maker);
      return plan;
    },
    pattern: (source) => {
      const pattern = patterns.get(source) ?? toPattern(source, size);
      patterns.set(source, pattern);
      return pattern;
    },
  };
  return maker;
}

function checksOf(schema: Keywords, maker: Maker): readonly Check[] {
  const targets = (maker.references.get(schema) ?? []).map(maker.plan);
  const follow = targets.map(
    (target): Check =>
      (value, evaluation) =>
        evaluation.follow(target, value),
  );
  const own = keywordChecks.flatMap(([keyword, make]) => {
    const given = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
    const check = given === undefined ? undefined : make(given, maker, schema);
    return check ? [check] : [];
  });
  return [...follow, ...own];
}

/** @throws Error naming the pattern. */
function toPattern(source: string, size: { left: number }): Pattern {
  try {
    return createPattern(source, size);
  } catch (cause) {
    const shown = JSON.stringify(source.length > shownCharacters ? `${source.slice(0, shownCharacters)}…` : source);
    throw new Error(`the pattern ${shown} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

const shownCharacters = 100;
