import type { DefaultTheme, LocaleSpecificConfig } from "vitepress";
import { pagesAtTop, sidebarOf } from "./pages.js";

/** The words of the theme, the bar and the sidebar for the pages in docs/zh. */
export function chinese(root: string): LocaleSpecificConfig<DefaultTheme.Config> & { label: string } {
  const sidebar = sidebarOf(root, "zh");
  const start = { text: "开始", items: [{ text: "简介", link: "/zh/readme" }, ...pagesAtTop(root, "zh")] };
  return {
    label: "简体中文",
    lang: "zh-CN",
    description: "与 Redisson 使用相同 Redis 键的 Node.js 分布式锁与信号量",
    themeConfig: {
      nav: [
        ...sidebar.flatMap(({ text, items }) => {
          const link = items?.[0]?.link;
          return link === undefined ? [] : [{ text, link }];
        }),
        { text: "API（英文）", link: "/api/" },
      ],
      sidebar: { "/zh/": [start, ...sidebar] },
      outline: { level: [2, 3], label: "本页内容" },
      docFooter: { prev: "上一页", next: "下一页" },
      darkModeSwitchLabel: "外观",
      lightModeSwitchTitle: "切换到浅色模式",
      darkModeSwitchTitle: "切换到深色模式",
      sidebarMenuLabel: "菜单",
      returnToTopLabel: "回到顶部",
      langMenuLabel: "语言",
      skipToContentLabel: "跳到正文",
      notFound: {
        title: "找不到页面",
        quote: "这个地址没有页面。",
        linkLabel: "回到首页",
        linkText: "回到首页",
      },
    },
  };
}

export const chineseSearch: Partial<DefaultTheme.LocalSearchOptions> = {
  translations: {
    button: { buttonText: "搜索", buttonAriaLabel: "搜索" },
    modal: {
      displayDetails: "显示详情",
      resetButtonTitle: "清除",
      backButtonTitle: "关闭",
      noResultsText: "没有结果",
      footer: { selectText: "选择", navigateText: "移动", closeText: "关闭" },
    },
  },
};
