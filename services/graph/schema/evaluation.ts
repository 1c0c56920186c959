/** One fault of a value: where, and what is wrong. A name in it is that of a member. */
export interface Fault {
  readonly path: string;
  readonly text: string;
}

/** A check of a value. @returns whether it passes; a fault is in the evaluation then. */
export type Check = (value: unknown, evaluation: Evaluation) => boolean;

/** A schema that is ready to check values; the checks are added when all schemas are known, because one may refer to itself. */
export interface Plan {
  checks: readonly Check[];
  /** Whether null passes without any check. */
  isNullable: boolean;
}

/** The members and items of one value that a schema has looked at, for `unevaluatedProperties` and `unevaluatedItems`. */
interface Seen {
  readonly names: Set<string>;
  readonly items: Set<number>;
}

/** Thrown when a value takes more steps than it may. */
export class TooComplex extends Error {}

/** More faults are not collected. */
const maxFaults = 64;
/** Levels of a value and of the references of a schema in each other, far fewer than would overflow the stack. */
const maxDepth = 1000;

/** How a value is checked. */
export interface CheckOptions {
  /** After how many steps it is given up. A step takes some ten nanoseconds. */
  readonly steps: number;
  /** Which faults are listed. */
  readonly faults: 'none' | 'first' | 'all';
}

/** The check of one value by one schema. */
export class Evaluation {
  readonly faults: Fault[] = [];
  /** Whether it goes on after the first fault. */
  readonly all: boolean;
  #left: number;
  #depth = 0;
  /** Above 0 no fault is kept: to write where it is takes longer than to find it. */
  #quiet: number;
  #path: (string | number)[] = [];
  /** The schemas that were followed to by references at this same part of the value. */
  #followed: readonly Plan[] = [];
  /** What is looked at of this part of the value; absent where no schema asks. */
  seen: Seen | undefined;

  constructor({ steps, faults }: CheckOptions) {
    this.#left = steps;
    this.#quiet = faults === 'none' ? 1 : 0;
    this.all = faults === 'all';
  }

  spend = (steps: number): void => {
    this.#left -= steps;
    if (this.#left < 0) throw new TooComplex();
  };

  /** Checks this part of the value by another schema. */
  by({ checks, isNullable }: Plan, value: unknown): boolean {
    this.spend(1 + checks.length);
    if (isNullable && value === null) return true;
    if (++this.#depth > maxDepth) throw new TooComplex();
    let passes = true;
    for (const check of checks) {
      if (check(value, this)) continue;
      passes = false;
      if (!this.all) break;
    }
    this.#depth -= 1;
    return passes;
  }

  /** As {@link within}, without keeping a fault. */
  triesWithin(key: string | number, plan: Plan, value: unknown): boolean {
    this.#quiet += 1;
    const passes = this.within(key, plan, value);
    this.#quiet -= 1;
    return passes;
  }

  /** Checks a member or an item of this part of the value. */
  within(key: string | number, plan: Plan, value: unknown): boolean {
    const followed = this.#followed;
    const { seen } = this;
    this.#followed = [];
    this.seen = seen && createSeen();
    this.#path.push(key);
    const passes = this.by(plan, value);
    this.#path.pop();
    this.#followed = followed;
    this.seen = seen;
    return passes;
  }

  /** Follows a reference. One that comes back to where it was at the same part of the value says nothing. */
  follow(plan: Plan, value: unknown): boolean {
    const followed = this.#followed;
    this.spend(followed.length);
    if (followed.includes(plan)) return true;
    this.#followed = [...followed, plan];
    const passes = this.by(plan, value);
    this.#followed = followed;
    return passes;
  }

  /** Whether a schema takes this part of the value; its faults are dropped unless it `keeps` them. What it looked at counts when it passes. */
  tries(plan: Plan, value: unknown, keeps = false): boolean {
    const { length } = this.faults;
    const { seen } = this;
    this.seen = seen && createSeen();
    if (!keeps) this.#quiet += 1;
    const passes = this.by(plan, value);
    if (!keeps) this.#quiet -= 1;
    if (passes) this.faults.length = length;
    if (passes && seen && this.seen) addSeen(seen, this.seen);
    this.seen = seen;
    return passes;
  }

  /** Adds a fault of this part of the value. */
  fault(text: string): false {
    if (this.#quiet > 0) return false;
    if (this.faults.length < maxFaults) this.faults.push({ path: this.#path.map(toPointer).join(''), text });
    return false;
  }
}

export const createSeen = (): Seen => ({ names: new Set(), items: new Set() });

function addSeen(into: Seen, from: Seen): void {
  for (const name of from.names) into.names.add(name);
  for (const item of from.items) into.items.add(item);
}

const toPointer = (key: string | number): string => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
