/**
 * The numbers at which a log begins. A run's log begins at 1. A log that is rebuilt, because NATS lost it or it is no longer kept,
 * holds other events. It begins above every number published before, so that a follower with an old number gets all of it and
 * misses nothing.
 *
 * Each rebuilt log has a range of numbers to itself. All numbers have at most fifteen digits, the bound of what a client may send.
 */
const rangeLength = 2 ** 28;
const rebuilds = 2 ** 20;

/** Whether an event of this number is the first of its log. No log has as many events as a range has numbers. */
export const beginsLog = (seq: number): boolean => seq % rangeLength === 1;

/** Whether event `first` may follow event `last` in a log; 0 is the last number of an empty log. */
export const follows = (last: number, first: number): boolean => (last === 0 ? beginsLog(first) : first === last + 1);

/** The number after which a log begins that the worker of this claim rebuilds. Later claims of a thread have higher epochs. */
export const numbersOfClaim = (epoch: number): number => (1 + (epoch % (rebuilds - 1))) * rangeLength;

/** The number after which a log begins that is rebuilt after the end of its run. No log begins above it. */
export const numbersOfEnd = rebuilds * rangeLength;

/** Whether a number belongs to a log that was rebuilt after the end of its run. */
export const isOfRebuiltEnd = (seq: number): boolean => seq > numbersOfEnd && seq <= numbersOfEnd + rangeLength;
