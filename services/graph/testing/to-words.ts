import type { AnswerPart } from '../model/model.ts';

/** A text as a model streams it: each word is a part. */
export const toWords = (text: string): readonly AnswerPart[] =>
  text === '' ? [] : text.split(/(?<=\s)(?=\S)/).map((word) => ({ type: 'text', text: word }));
