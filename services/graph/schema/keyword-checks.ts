import { isEqual, uniqueFault } from './compare.ts';
import type { Check, Evaluation, Plan } from './evaluation.ts';
import { formats } from './formats.ts';
import { isObject, isSchema, type Keywords, type Schema } from './keywords.ts';
import type { Pattern } from './pattern.ts';
import type { References } from './references.ts';

/** What the checks of keywords are made with. */
export interface Maker {
  readonly plan: (schema: Schema) => Plan;
  readonly pattern: (source: string) => Pattern;
  readonly references: References;
}

/** Makes the check of a keyword of what the schema gives it; `undefined` where that checks nothing. */
type Make = (given: unknown, maker: Maker, schema: Keywords) => Check | undefined;

/** Characters of a text that take about as long as a step. */
const charactersPerStep = 16;

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

const type: Make = (given) => {
  const names = (Array.isArray(given) ? given : [given]).map(String);
  const fits = names.map((name) => (Object.hasOwn(types, name) ? types[name] : undefined) ?? (() => false));
  return (value, evaluation) => fits.some((fit) => fit(value)) || evaluation.fault(`must be ${names.join(',')}`);
};

/** The check of a number that only numbers fail. */
const ofNumber =
  (fits: (value: number, bound: number) => boolean, words: string): Make =>
  (given) => {
    // In draft 4 an exclusive bound is a word beside the bound.
    if (typeof given !== 'number') return undefined;
    const bound = given;
    return (value, evaluation) =>
      typeof value !== 'number' || fits(value, bound) || evaluation.fault(`must be ${words} ${String(bound)}`);
  };

/** The bound itself is left out where draft 4 says so beside it. */
const bound =
  (inclusive: Make, exclusive: Make, word: string): Make =>
  (given, maker, schema) =>
    (schema[word] === true ? exclusive : inclusive)(given, maker, schema);

const [atMost, atLeast] = [
  ofNumber((value, most) => value <= most, '<='),
  ofNumber((value, least) => value >= least, '>='),
];
const [below, above] = [ofNumber((value, most) => value < most, '<'), ofNumber((value, least) => value > least, '>')];

const multipleOf: Make = (given) => {
  const factor = Number(given);
  return (value, evaluation) =>
    typeof value !== 'number' || isMultiple(value, factor) || evaluation.fault(`must be multiple of ${String(factor)}`);
};

/** 0.3 is a multiple of 0.1, although not in binary. */
function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor;
  return (
    Number.isInteger(quotient) || Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient))
  );
}

/** Characters, not the units of UTF-16. */
function lengthOf(text: string, evaluation: Evaluation): number {
  evaluation.spend(text.length / charactersPerStep);
  let length = 0;
  for (let at = 0; at < text.length; at++, length++) if ((text.codePointAt(at) as number) > 0xff_ff) at++;
  return length;
}

const ofText =
  (check: (text: string, evaluation: Evaluation) => boolean, words: string): Check =>
  (value, evaluation) =>
    typeof value !== 'string' || check(value, evaluation) || evaluation.fault(words);

const minLength: Make = (given) =>
  ofText(
    (text, evaluation) => lengthOf(text, evaluation) >= Number(given),
    `must NOT have fewer than ${String(given)} characters`,
  );
const maxLength: Make = (given) =>
  ofText(
    (text, evaluation) => lengthOf(text, evaluation) <= Number(given),
    `must NOT have more than ${String(given)} characters`,
  );

/** A pattern is of the author, and says little to who reads the fault. */
const pattern: Make = (given, maker) => {
  const compiled = maker.pattern(String(given));
  return ofText((text, { spend }) => compiled.test(text, spend), 'must match the pattern of its schema');
};

const format: Make = (given) => {
  const fits = Object.hasOwn(formats, String(given)) ? formats[String(given)] : undefined;
  if (!fits) return undefined;
  return ofText(
    (text, { spend }) => {
      spend(text.length / charactersPerStep);
      return fits(text);
    },
    `must match format "${String(given)}"`,
  );
};

const constant: Make = (given) => (value, evaluation) =>
  isEqual(value, given, evaluation.spend) || evaluation.fault('must be equal to constant');

const enumeration: Make = (given) => {
  if (!Array.isArray(given)) return undefined;
  const simple = new Set(given.filter((one) => typeof one !== 'object' || one === null));
  const others = given.filter((one) => typeof one === 'object' && one !== null);
  return (value, evaluation) =>
    simple.has(value) ||
    others.some((one) => isEqual(value, one, evaluation.spend)) ||
    evaluation.fault('must be equal to one of the allowed values');
};

const plansOf = (given: unknown, { plan }: Maker): readonly Plan[] =>
  Array.isArray(given) ? given.filter(isSchema).map(plan) : [];

const not: Make = (given, { plan }) => {
  if (!isSchema(given)) return undefined;
  const own = plan(given);
  return (value, evaluation) => !evaluation.tries(own, value) || evaluation.fault('must NOT be valid');
};

const anyOf: Make = (given, maker) => {
  const plans = plansOf(given, maker);
  return (value, evaluation) => {
    const { length } = evaluation.faults;
    let passes = false;
    for (const plan of plans) {
      if (evaluation.tries(plan, value, true)) passes = true;
      // Every alternative counts for what is looked at.
      if (passes && !evaluation.seen) break;
    }
    if (!passes) return evaluation.fault('must match a schema in anyOf');
    evaluation.faults.length = length;
    return true;
  };
};

const oneOf: Make = (given, maker) => {
  const plans = plansOf(given, maker);
  return (value, evaluation) => {
    const { length } = evaluation.faults;
    let passed = 0;
    for (const plan of plans) {
      if (evaluation.tries(plan, value, true)) passed += 1;
      if (passed > 1) break;
    }
    if (passed > 0) evaluation.faults.length = length;
    return passed === 1 || evaluation.fault('must match exactly one schema in oneOf');
  };
};

const allOf: Make = (given, maker) => {
  const plans = plansOf(given, maker);
  return (value, evaluation) => {
    let passes = true;
    for (const plan of plans) {
      if (evaluation.by(plan, value)) continue;
      passes = false;
      if (!evaluation.all) break;
    }
    return passes;
  };
};

const conditional: Make = (given, { plan }, schema) => {
  if (!isSchema(given)) return undefined;
  const asked = plan(given);
  const [then, otherwise] = [schema['then'], schema['else']].map((part) => (isSchema(part) ? plan(part) : undefined));
  return (value, evaluation) => {
    const holds = evaluation.tries(asked, value);
    const branch = holds ? then : otherwise;
    return (
      !branch || evaluation.by(branch, value) || evaluation.fault(`must match "${holds ? 'then' : 'else'}" schema`)
    );
  };
};

const ofList =
  (check: (list: readonly unknown[], evaluation: Evaluation) => boolean): Check =>
  (value, evaluation) =>
    !Array.isArray(value) || check(value, evaluation);

const minItems: Make = (given) =>
  ofList(
    (list, evaluation) =>
      list.length >= Number(given) || evaluation.fault(`must NOT have fewer than ${String(given)} items`),
  );
const maxItems: Make = (given) =>
  ofList(
    (list, evaluation) =>
      list.length <= Number(given) || evaluation.fault(`must NOT have more than ${String(given)} items`),
  );

const uniqueItems: Make = (given) => {
  if (given !== true) return undefined;
  return ofList((list, evaluation) => {
    const fault = uniqueFault(list, evaluation.spend);
    return fault === undefined || evaluation.fault(fault);
  });
};

/** Of `items`, what stands for the first items, and what for those after them; before 2020-12 a list stands for the first. */
const tupleOf = ({
  items,
  prefixItems,
  additionalItems,
}: Keywords): { readonly first: unknown; readonly rest: unknown } =>
  Array.isArray(items) ? { first: items, rest: additionalItems } : { first: prefixItems, rest: items };

const items: Make = (_, maker, schema) => {
  const { first, rest } = tupleOf(schema);
  const plans = plansOf(first, maker);
  const after = isSchema(rest) ? maker.plan(rest) : undefined;
  const most = rest === false ? plans.length : Infinity;
  return ofList((list, evaluation) => {
    const { seen } = evaluation;
    if (list.length > most) return evaluation.fault(`must NOT have more than ${String(most)} items`);
    let passes = true;
    const end = after ? list.length : Math.min(list.length, plans.length);
    for (let index = 0; index < end && (passes || evaluation.all); index++) {
      passes = evaluation.within(index, (plans[index] ?? after) as Plan, list[index]) && passes;
      seen?.items.add(index);
    }
    return passes;
  });
};

const contains: Make = (given, { plan }, schema) => {
  if (!isSchema(given)) return undefined;
  const own = plan(given);
  const least = typeof schema['minContains'] === 'number' ? schema['minContains'] : 1;
  const most = typeof schema['maxContains'] === 'number' ? schema['maxContains'] : Infinity;
  const words = `must contain at least ${String(least)}${most === Infinity ? '' : ` and no more than ${String(most)}`} valid item(s)`;
  return ofList((list, evaluation) => {
    let found = 0;
    for (const [index, item] of list.entries()) {
      if (most === Infinity && found >= least && !evaluation.seen) break;
      if (!evaluation.triesWithin(index, own, item)) continue;
      found += 1;
      evaluation.seen?.items.add(index);
    }
    return (found >= least && found <= most) || evaluation.fault(words);
  });
};

const unevaluatedItems: Make = (given, { plan }) => {
  if (!isSchema(given)) return undefined;
  const own = plan(given);
  return ofList((list, evaluation) => {
    let passes = true;
    for (const [index, item] of list.entries()) {
      if (evaluation.seen?.items.has(index)) continue;
      if (given === false) return evaluation.fault('must NOT have unevaluated items');
      passes = evaluation.within(index, own, item) && passes;
      evaluation.seen?.items.add(index);
    }
    return passes;
  });
};

type Members = Readonly<Record<string, unknown>>;

const ofObject =
  (check: (members: Members, evaluation: Evaluation) => boolean): Check =>
  (value, evaluation) =>
    !isObject(value) || check(value, evaluation);

/** The members that have a value: JSON has no others. */
function namesOf(members: Members, { spend }: Evaluation): readonly string[] {
  const names = Object.keys(members);
  spend(names.length);
  return names;
}

const has = (members: Members, name: string): boolean => Object.hasOwn(members, name) && members[name] !== undefined;

const minProperties: Make = (given) =>
  ofObject(
    (members, evaluation) =>
      namesOf(members, evaluation).length >= Number(given) ||
      evaluation.fault(`must NOT have fewer than ${String(given)} properties`),
  );
const maxProperties: Make = (given) =>
  ofObject(
    (members, evaluation) =>
      namesOf(members, evaluation).length <= Number(given) ||
      evaluation.fault(`must NOT have more than ${String(given)} properties`),
  );

const required: Make = (given) => {
  if (!Array.isArray(given)) return undefined;
  const names = given.map(String);
  return ofObject((members, evaluation) => {
    evaluation.spend(names.length);
    let passes = true;
    for (const name of names) {
      if (has(members, name)) continue;
      passes = evaluation.fault(`must have required property '${name}'`);
      if (!evaluation.all) break;
    }
    return passes;
  });
};

/** `dependencies` holds lists of names and schemas; since 2019-09 each has a keyword of its own. */
const dependencies: Make = (given, { plan }) => {
  if (!isObject(given)) return undefined;
  const each = Object.entries(given).map(([name, needed]) => ({
    name,
    names: Array.isArray(needed) ? needed.map(String) : [],
    plan: isSchema(needed) ? plan(needed) : undefined,
  }));
  return ofObject((members, evaluation) => {
    evaluation.spend(each.length);
    let passes = true;
    for (const { name, names, plan: own } of each) {
      if (!has(members, name)) continue;
      evaluation.spend(names.length);
      const missing = names.find((needed) => !has(members, needed));
      if (missing !== undefined)
        passes = evaluation.fault(`must have property ${missing} when property ${name} is present`);
      if (own && !evaluation.by(own, members)) passes = false;
      if (!passes && !evaluation.all) break;
    }
    return passes;
  });
};

const propertyNames: Make = (given, { plan }) => {
  if (!isSchema(given)) return undefined;
  const own = plan(given);
  return ofObject((members, evaluation) => {
    let passes = true;
    for (const name of namesOf(members, evaluation)) {
      if (evaluation.tries(own, name, true)) continue;
      passes = evaluation.fault(`property name '${name}' must be valid`);
      if (!evaluation.all) break;
    }
    return passes;
  });
};

const byName = (given: unknown): readonly (readonly [string, Schema])[] =>
  isObject(given) ? Object.entries(given).filter((entry): entry is [string, Schema] => isSchema(entry[1])) : [];

const patternsOf = (given: unknown, maker: Maker): ReturnType<typeof onePattern>[] =>
  byName(given).map(([source, schema]) => onePattern(source, schema, maker));
const onePattern = (source: string, schema: Schema, { pattern: toPattern, plan }: Maker) => ({
  pattern: toPattern(source),
  plan: plan(schema),
});

const additionalProperties: Make = (given, maker, schema) => {
  if (!isSchema(given)) return undefined;
  const own = maker.plan(given);
  const named = new Set(byName(schema['properties']).map(([name]) => name));
  const patterns = patternsOf(schema['patternProperties'], maker);
  return ofObject((members, evaluation) => {
    let passes = true;
    for (const name of namesOf(members, evaluation)) {
      if (named.has(name) || members[name] === undefined) continue;
      if (patterns.some((each) => each.pattern.test(name, evaluation.spend))) continue;
      evaluation.seen?.names.add(name);
      if (given === false) passes = evaluation.fault(`must NOT have additional properties: '${name}'`);
      else if (!evaluation.within(name, own, members[name])) passes = false;
      if (!passes && !evaluation.all) break;
    }
    return passes;
  });
};

const properties: Make = (given, { plan }) => {
  const each = byName(given).map(([name, schema]) => ({ name, plan: plan(schema) }));
  return ofObject((members, evaluation) => {
    evaluation.spend(each.length);
    let passes = true;
    for (const { name, plan: own } of each) {
      if (!has(members, name)) continue;
      evaluation.seen?.names.add(name);
      if (evaluation.within(name, own, members[name])) continue;
      passes = false;
      if (!evaluation.all) break;
    }
    return passes;
  });
};

const patternProperties: Make = (given, maker) => {
  const each = patternsOf(given, maker);
  return ofObject((members, evaluation) => {
    let passes = true;
    for (const name of namesOf(members, evaluation)) {
      for (const { pattern: own, plan } of each) {
        if (!own.test(name, evaluation.spend)) continue;
        evaluation.seen?.names.add(name);
        if (!evaluation.within(name, plan, members[name])) passes = false;
      }
      if (!passes && !evaluation.all) break;
    }
    return passes;
  });
};

const unevaluatedProperties: Make = (given, { plan }) => {
  if (!isSchema(given)) return undefined;
  const own = plan(given);
  return ofObject((members, evaluation) => {
    let passes = true;
    for (const name of namesOf(members, evaluation)) {
      if (evaluation.seen?.names.has(name)) continue;
      if (given === false) passes = evaluation.fault(`must NOT have unevaluated properties: '${name}'`);
      else if (!evaluation.within(name, own, members[name])) passes = false;
      evaluation.seen?.names.add(name);
      if (!passes && !evaluation.all) break;
    }
    return passes;
  });
};

/** Every keyword that checks something, in the order of the faults. What looks at the rest of a value comes last. */
export const keywordChecks: readonly (readonly [keyword: string, make: Make])[] = [
  ['type', type],
  ['maximum', bound(atMost, below, 'exclusiveMaximum')],
  ['minimum', bound(atLeast, above, 'exclusiveMinimum')],
  ['exclusiveMaximum', below],
  ['exclusiveMinimum', above],
  ['multipleOf', multipleOf],
  ['maxLength', maxLength],
  ['minLength', minLength],
  ['pattern', pattern],
  ['format', format],
  ['const', constant],
  ['enum', enumeration],
  ['not', not],
  ['anyOf', anyOf],
  ['oneOf', oneOf],
  ['allOf', allOf],
  ['if', conditional],
  ['maxItems', maxItems],
  ['minItems', minItems],
  ['uniqueItems', uniqueItems],
  ['prefixItems', (given, maker, schema) => ('items' in schema ? undefined : items(given, maker, schema))],
  ['items', items],
  ['contains', contains],
  ['maxProperties', maxProperties],
  ['minProperties', minProperties],
  ['required', required],
  ['dependencies', dependencies],
  ['dependentRequired', dependencies],
  ['dependentSchemas', dependencies],
  ['propertyNames', propertyNames],
  ['additionalProperties', additionalProperties],
  ['properties', properties],
  ['patternProperties', patternProperties],
  ['unevaluatedItems', unevaluatedItems],
  ['unevaluatedProperties', unevaluatedProperties],
];
