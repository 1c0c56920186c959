/**
 * Types of refusals (`details[].type` of an Invalid error) that a caller of the record tells apart: a step whose commit is
 * refused so fails its run with a sentence of its own.
 */
export const contextTooLarge = 'context_too_large';
export const stateTooLarge = 'state_too_large';
