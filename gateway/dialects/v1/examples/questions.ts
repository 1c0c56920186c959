import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

export const listQuestions: Example = {
  query: { sort: 'deadline', limit: 10 },
  reply: {
    questions: [
      {
        question_id: exampleIds.question,
        asked_for: 'ada',
        thread_id: exampleIds.thread,
        run_id: exampleIds.run,
        agent: 'refunds',
        node: 'approve',
        value: { question: 'Refund 899 EUR to ada?', schema: { type: 'boolean' } },
        to: ['manager'],
        not_owner: true,
        quorum: 1,
        answers: 0,
        answered: false,
        asked_at: '2026-02-05T12:00:00.000Z',
        deadline: '2026-02-07T12:00:00.000Z',
        default: false,
      },
    ],
    has_more: false,
  },
};

export const answerQuestion: Example = {
  params: { question_id: exampleIds.question },
  body: { answer: true },
  reply: { question_id: exampleIds.question, status: 'answered', answers: 1, quorum: 1 },
};
