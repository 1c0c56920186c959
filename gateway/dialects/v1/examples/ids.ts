/** The ids in examples. A test puts ids that exist in place of those that the service makes. */
export const exampleIds = {
  thread: 'support-42',
  message: 'question-1',
  run: '019c2f6e-8f00-7a10-8000-3b5c9d1e7f21',
  checkpoint: '1795418778876002',
  file: '019c2f6e-9200-7a10-8000-3b5c9d1e7f24',
  schedule: '019c2f6e-9300-7a10-8000-3b5c9d1e7f25',
  question: '8c7b4c1e-7d1f-8a55-9d3e-5b0a1c2d3e4f',
  memory: '019c2f6e-9100-7a10-8000-3b5c9d1e7f23',
  assistant: '019c2f6e-9400-7a10-8000-3b5c9d1e7f26',
  trigger: '019c2f6e-9500-7a10-8000-3b5c9d1e7f27',
  webhook: '019c2f6e-9600-7a10-8000-3b5c9d1e7f28',
  delivery: '019c2f6e-9700-7a10-8000-3b5c9d1e7f29',
  share: '019c2f6e-9800-7a10-8000-3b5c9d1e7f2a.YWRh',
} as const;
