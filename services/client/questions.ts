import { request, type Connection, type RequestOptions } from './request.ts';
import type { Json } from './shapes/json.ts';
import type { AnsweredQuestion, Questions, QuestionsQuery } from './shapes/questions.ts';

export const questionsOf = (connection: Connection) => ({
  /** The open questions of runs of all owners that the caller may answer. */
  list: (query: QuestionsQuery = {}, options: RequestOptions = {}): Promise<Questions> =>
    request(connection, { method: 'GET', path: '/v1/questions', query, ...options }),
  /** Answers one. The same answer again is one answer. */
  answer: (questionId: string, answer: Json, options: RequestOptions = {}): Promise<AnsweredQuestion> =>
    request(connection, {
      method: 'POST',
      path: '/v1/questions/{questionId}/answer',
      ids: { questionId },
      body: { answer },
      ...options,
    }),
});
