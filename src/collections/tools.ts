/** The tools that a collection is written for. `http`: the editors that run handlers in .http files. */
export const collectionTools = ['postman', 'bruno', 'http', 'rest-client'] as const
export type CollectionTool = (typeof collectionTools)[number]
