/** Another name of `@agent-workflow/graph`, for agents that import it from here. */
export * from '@agent-workflow/graph';
