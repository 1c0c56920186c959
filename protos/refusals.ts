/**
 * Types of Invalid errors (`details[].type`) of the threads service that the execution service distinguishes: a step whose commit is
 * refused with one of them fails its run with its own message.
 */
export const contextTooLarge = 'context_too_large';
export const stateTooLarge = 'state_too_large';

/** The type of a Conflict: the thread has a newer run than the one that the request goes on from. */
export const newerRun = 'newer_run';

/** The type of a Conflict: the thread that the request would make is there already. */
export const threadExists = 'thread_exists';

/** The type of a PermissionDenied or a Conflict: others answer an open question of the thread, whose id stands last in the field of the detail. */
export const questionOfOthers = 'question_of_others';

/** The type of the detail that has the name of a caller's pool, where the reply would have it and the call is refused. */
export const poolOfToken = 'pool_of_token';
