/** The tools that a collection is written for. Bruno and others import that of Postman. */
export const collectionTools = ['postman', 'http'] as const
export type CollectionTool = (typeof collectionTools)[number]
