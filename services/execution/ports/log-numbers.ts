/**
 * Where the numbers of a log begin. A run's log begins at 1. One that is told again, because NATS lost it or it was kept no
 * longer, holds other events under its numbers: it begins above every number told before, so that whoever comes back with an
 * old one is given all of it, and misses nothing.
 *
 * Each telling has a span of numbers to itself. All numbers have at most fifteen digits, which is what a client may send back.
 */
const span = 2 ** 28;
const tellings = 2 ** 20;

/** Whether an event of this number is the first of its log: none has as many as a span. */
export const beginsLog = (seq: number): boolean => seq % span === 1;

/** Whether an event of number `first` may stand behind the one of number `last`, 0 being that of an empty log. */
export const follows = (last: number, first: number): boolean => (last === 0 ? beginsLog(first) : first === last + 1);

/** Behind which number the log begins that the worker of this claim tells again. Later claims of a thread have higher epochs. */
export const numbersOfClaim = (epoch: number): number => (1 + (epoch % (tellings - 1))) * span;

/** Behind which number the log begins that is told again when the run has ended: nobody writes after that. */
export const numbersOfEnd = tellings * span;

/** Whether a number is of a log that was rebuilt when its run had ended. */
export const isOfRebuiltEnd = (seq: number): boolean => seq > numbersOfEnd && seq <= numbersOfEnd + span;
