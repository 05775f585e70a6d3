/** The files of docs/guides/chat-lists.md, which are checked where the guide is: tests/docs/blocks.test.ts. */
declare module 'guide:*'
